"""Machine code containers: what cubins and fatbins tell without a driver."""
