"""What a network costs, predicted from its shapes alone: operations, bytes, memory, depth, and its picture."""
