//! `inorder`: work on the records of a file on every core, in order, in constant memory. The program; it uses nothing
//! of the library but its public interface.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    inorder::guard_mapped_reads();
    cli::main().into()
}
