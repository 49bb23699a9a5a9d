"""Running a recipe, again: its file and runner, in turn with another, replayed from its bundle, reproduced."""
