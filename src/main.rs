//! The eurekad program.

use std::process::ExitCode;

fn main() -> ExitCode {
    eurekad::cli::main(std::env::args_os())
}
