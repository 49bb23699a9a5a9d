"""judge a result, a paper's claims or another tool's log by the rules of honest benchmarking"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Deep500Error, visible
from . import options
from .output import json_text, print_json, write_page

if TYPE_CHECKING:
    from ..contracts.audit_rule import AuditRule
    from ..dossiers.auditing import Audit

LIST = ""  # what --rules is without ids


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "source",
        nargs="*",
        metavar="SOURCE",
        help="bundles, a folder of bundles, a claims file (.toml), or a log (several: audited together)",
    )
    add(
        "--rules",
        nargs="?",
        const=LIST,
        default=None,
        metavar="IDS",
        help="the rules to judge by, such as R1,F6,N4 (without ids: list all rules)",
    )
    add(
        "--new",
        type=Path,
        default=None,
        metavar="FILE",
        help="a claims file to write, which asks for all that is not said; with SOURCE, what that says is filled in",
    )
    add(
        "--gallery",
        type=Path,
        default=None,
        metavar="FILE",
        help="a gallery to write: what breaks and what keeps every rule",
    )
    options.out(parser, "a page of the audit")


def call(args: argparse.Namespace) -> int:
    if args.new:
        return _write_template(args)
    from ..dossiers.audit_sources import audit_sources
    from ..dossiers.auditing import chosen_rules

    ids = [word for word in (args.rules or "").split(",") if word.strip()]
    rules = chosen_rules(ids)
    if args.rules is not None and not ids:
        if args.source:
            raise Deep500Error(
                "--rules names no rule: give ids, such as R1,F6, or leave it out for all rules"
            )
        return _list_rules(args, rules)
    if args.gallery:
        return _write_gallery(args, rules)
    if not args.source:
        raise Deep500Error(
            "nothing to audit: name a bundle, a claims file or a log; `d5 audit --new claims.toml` begins a claims file"
        )
    _check_out(args)
    return _show(args, audit_sources(*args.source, rules=rules))


def _check_out(args: argparse.Namespace) -> None:
    """Refuse to write the page over what is audited."""
    if args.out is None:
        return
    sources = {Path(source).resolve() for source in args.source}
    if args.out.resolve() in sources:
        raise Deep500Error(
            f"--out {args.out} is what is to be audited: choose another name for the page"
        )


def _show(args: argparse.Namespace, result: "Audit") -> int:
    from ..bundle.records.loading import rendered
    from ..dossiers.audit_pages import audit_page
    from ..dossiers.audit_report import audit_report
    from ..reports.terminal import terminal
    from ..schema import encoded

    if args.out:
        write_page(args.out, audit_page(result))
    if args.json:
        document = {"answer": result.sentence, "exit_code": result.exit_code}
        print_json({**document, **encoded(result)})
    else:
        print(rendered(terminal, audit_report(result)))
        if args.out:
            print(f"page: {visible(str(args.out))}")
    return result.exit_code


def _list_rules(args: argparse.Namespace, rules: "list[AuditRule]") -> int:
    from ..dossiers.audit_report import rules_report
    from ..reports.terminal import terminal

    rows = [(rule.id, rule.sentence, rule.why) for rule in rules]
    if args.json:
        keys = ("id", "rule", "why")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print(terminal(rules_report(rows)))
    return 0


def _write_gallery(args: argparse.Namespace, rules: "list[AuditRule]") -> int:
    from ..bundle.records.loading import rendered
    from ..dossiers.gallery import gallery
    from ..reports.html import html

    if args.source:
        raise Deep500Error("--gallery shows the rules: give no SOURCE with it")
    write_page(args.gallery, rendered(html, gallery(rules)))
    if args.json:
        print(json_text({"written": str(args.gallery)}))
    else:
        print(visible(str(args.gallery)))
    return 0


def _claims_text(sources: "list[str]") -> str:
    """An empty claims file, or what the sources say with all that they leave unsaid."""
    from ..dossiers.claims_template import claims_of, claims_template

    if not sources:
        return claims_template()
    from ..dossiers.sources import read_sources, whole_dossier

    return claims_of(whole_dossier(read_sources(sources)))


def _write_template(args: argparse.Namespace) -> int:
    text = _claims_text(args.source)
    try:
        with args.new.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Deep500Error(f"{args.new} exists already: choose another name") from None
    except OSError as error:
        raise Deep500Error(f"cannot write {args.new}: {error.strerror}") from None
    if args.json:
        print(json_text({"written": str(args.new)}))
    else:
        print(f"{visible(str(args.new))}: fill it in, then `d5 audit` it")
    return 0
