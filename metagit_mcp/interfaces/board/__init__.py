"""The board: one page in the browser that shows what the server answers, and decides nothing by itself."""
