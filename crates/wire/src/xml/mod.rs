//! The XML codec.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod escape;
mod names;
mod source;
mod writer;
