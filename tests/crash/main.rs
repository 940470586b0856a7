//! Crash tests: resumable runs that are killed, whose calls fail, whose input is cut short, under whose feet the power goes.
//!
//! `cargo test --release --test crash` runs all of it (about 10 minutes); a word selects by name, `-- kills`. `INORDER_SEED` repeats a run,
//! `INORDER_CASES` is the number of random cases of each mode. What needs a tool, a right or a command that is missing says so.

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod kills;
#[cfg(target_os = "linux")]
mod modes;
#[cfg(target_os = "linux")]
mod power;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod truncations;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: it needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use bench::{Row, Seed};

    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let mut seed = Seed::new();
    println!("INORDER_SEED={}\n", seed.first());
    let mut rows = Vec::new();
    type Test = fn(&mut Seed, &mut Vec<Row>);
    let tests: [(&str, Test); 5] = [
        ("kills", kills::run),
        ("calls", syscalls::kills),
        ("faults", syscalls::faults),
        ("truncations", truncations::run),
        ("power", power::run),
    ];
    for (name, test) in tests {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            test(&mut seed, &mut rows);
        }
    }
    println!("\n{:<52} {:>6} {:>10}", "", "tried", "identical");
    for row in &rows {
        println!("{:<52} {:>6} {:>10}", row.name, row.tried, row.identical);
    }
    let good = rows.iter().all(|row| row.tried == row.identical);
    match good && !rows.is_empty() {
        true => std::process::ExitCode::SUCCESS,
        false => std::process::ExitCode::FAILURE,
    }
}
