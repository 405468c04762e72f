//! The JSON codec.

pub(crate) mod decode;
pub(crate) mod encode;
mod object;
