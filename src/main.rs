//! The eurekad program.

use std::process::ExitCode;

/// It gives memory back. glibc's keeps what large short-lived bodies leave: see "Decisions that may surprise" in ARCHITECTURE.md.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    eurekad::cli::main(std::env::args_os())
}
