from typing import Annotated

from ..contracts.operator import Operator, TensorSpec, case
from ..contracts.setting_ranges import Allowed


class NonMaxSuppression(Operator):
    """The boxes with the best scores, class by class, without those that overlap a better one too much.

    Every row that comes out is (batch, class, box). Boxes are two corners (y, x, y, x), or a centre and an extent
    (x, y, width, height); too much is more than `iou_threshold` of what the two cover together.
    """

    since = 10
    center_point_box: int = 0
    data_dependent = True

    def forward(  # type: ignore[no-untyped-def]
        self,
        xp,
        boxes,
        scores,
        max_output_boxes_per_class: int | None = None,
        iou_threshold: Annotated[float | None, Allowed(0, 1)] = None,
        score_threshold: float | None = None,
    ):
        best, order = xp.sort_descending(scores, 2)
        good = (
            xp.ones_like(best)
            if score_threshold is None
            else xp.astype(best > score_threshold, best.dtype)
        )
        overlaps = self._overlaps(xp, boxes, iou_threshold or 0.0)
        kept = xp.zeros_like(best)
        for i in range(scores.shape[2]):
            rivals = self._rows(xp, overlaps, order, order[:, :, i])
            free = (xp.sum(kept * rivals, axis=2) == 0) & (
                xp.sum(kept, axis=2) < (max_output_boxes_per_class or 0)
            )
            here = xp.astype(free, best.dtype) * good[:, :, i]
            kept = kept + xp.expand_dims(here, 2) * xp.astype(
                xp.arange(scores.shape[2], "int64") == i, best.dtype
            )
        places = xp.nonzero(kept)
        flat = (places[:, 0] * scores.shape[1] + places[:, 1]) * scores.shape[2] + places[:, 2]
        return xp.stack(
            [places[:, 0], places[:, 1], xp.take(xp.reshape(order, (-1,)), flat, 0)], axis=1
        )

    def infer(
        self,
        boxes,
        scores,
        max_output_boxes_per_class=None,
        iou_threshold=None,
        score_threshold=None,
    ):
        batch, classes, n = scores.shape
        return (
            TensorSpec((batch * classes * min(n, max_output_boxes_per_class or 0), 3), "int64"),
        )

    def flops(
        self,
        boxes,
        scores,
        max_output_boxes_per_class=None,
        iou_threshold=None,
        score_threshold=None,
    ):
        return scores.shape[0] * scores.shape[2] ** 2 * (20 + 2 * scores.shape[1])

    def _overlaps(self, xp, boxes, threshold):
        """(batch, box, box): 1 where two boxes overlap too much."""
        (y1, y2), (x1, x2) = self._edges(xp, boxes)
        area = (y2 - y1) * (x2 - x1)
        shared = _shared(xp, y1, y2) * _shared(xp, x1, x2)
        both = xp.expand_dims(area, 2) + xp.expand_dims(area, 1) - shared
        filled = (
            (shared > 0)
            & (xp.expand_dims(area, 2) > 0)
            & (xp.expand_dims(area, 1) > 0)
            & (both > 0)
        )
        return xp.astype(filled & (shared / xp.where(both > 0, both, 1) > threshold), boxes.dtype)

    def _edges(self, xp, boxes):
        """(low, high) along y and along x: (batch, box)."""
        a, b, c, d = (boxes[:, :, i] for i in range(4))
        if self.center_point_box:
            return (b - d / 2, b + d / 2), (a - c / 2, a + c / 2)
        return (xp.minimum(a, c), xp.maximum(a, c)), (xp.minimum(b, d), xp.maximum(b, d))

    def _rows(self, xp, overlaps, order, box):
        """(batch, class, rank): whether the box of each class overlaps those of every rank."""
        batch, classes, n = order.shape
        rows = xp.take_along_axis(
            overlaps, xp.broadcast_to(xp.expand_dims(box, 2), (batch, classes, n)), 1
        )
        return xp.take_along_axis(rows, order, 2)

    cases = (
        case(
            boxes=[
                [
                    [0.0, 0.0, 1.0, 1.0],
                    [1.0, 1.1, 0.0, 0.1],
                    [0.0, -0.1, 1.0, 0.9],
                    [0.0, 10.0, 1.0, 11.0],
                ]
            ],
            scores=[[[0.9, 0.75, 0.6, 0.95], [0.5, 0.75, 0.2, 0.1]]],
            max_output_boxes_per_class=2,
            iou_threshold=0.5,
            score_threshold=0.3,
        ),
        case(
            {"center_point_box": 1},
            boxes=[[[0.5, 0.5, 1.0, 1.0], [0.5, 0.6, 1.0, 1.0]], [[0.5, 0.5, 1.0, 1.0]] * 2],
            scores=[[[0.5, 0.8]], [[0.5, 0.5]]],
            max_output_boxes_per_class=3,
            iou_threshold=0.9,
        ),
    )


def _shared(xp, low, high):
    """(batch, box, box): the length that two boxes have in common."""
    ends = xp.minimum(xp.expand_dims(high, 2), xp.expand_dims(high, 1))
    return xp.maximum(ends - xp.maximum(xp.expand_dims(low, 2), xp.expand_dims(low, 1)), 0)
