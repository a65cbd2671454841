//! The dependency arrows of the workspace, checked.
