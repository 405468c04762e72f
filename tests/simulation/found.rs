//! Faults that histories have found, each by the seed that found it.
