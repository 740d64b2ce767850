"""Where the outside is touched: files, locks, logs, change detection; knows no rule of scheduling."""
