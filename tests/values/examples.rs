//! The examples: each checks what it does.

use crate::threads::Turn;

#[path = "../../examples/fastq.rs"]
mod fastq;
#[path = "../../examples/first_hundred.rs"]
mod first_hundred;
#[path = "../../examples/running_total.rs"]
mod running_total;
#[path = "../../examples/serde_rows.rs"]
mod serde_rows;
#[path = "../../examples/sqlite.rs"]
mod sqlite;
#[path = "../../examples/tokio_bridge.rs"]
mod tokio_bridge;

#[test]
fn fastq_runs() {
    let _turn = Turn::new();
    fastq::main().unwrap();
}

#[test]
fn first_hundred_runs() {
    let _turn = Turn::new();
    first_hundred::main();
}

#[test]
fn running_total_runs() {
    let _turn = Turn::new();
    running_total::main();
}

#[test]
fn serde_rows_runs() {
    let _turn = Turn::new();
    serde_rows::main().unwrap();
}

#[test]
fn sqlite_runs() {
    let _turn = Turn::new();
    sqlite::main().unwrap();
}

#[test]
fn tokio_bridge_runs() {
    let _turn = Turn::new();
    tokio_bridge::main();
}
