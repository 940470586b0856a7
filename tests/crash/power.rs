//! The power goes: an ext4 on a loop device is shut down, without its journal, and mounted again.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::bench::{Came, Place, Row, Seed, cases, skipped};
use crate::modes::{Mode, simple_modes};

const RECORDS: usize = 8000;

/// `EXT4_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`.
const CUT: &str =
    "open(F, '<', $ARGV[0]) or die $!; my $f = pack('L', 2); ioctl(F, 0x8004587d, $f) or die $!";

/// The file system, unmounted when dropped.
struct Disk(TempDir);

impl Disk {
    fn new() -> Result<Disk, String> {
        let disk = Disk(TempDir::new().map_err(|error| error.to_string())?);
        disk.sh("truncate -s 48M image && mkfs.ext4 -q -F image && mkdir m")?;
        disk.sh("mount -o loop image m")?;
        // Whether it can be shut down.
        disk.cut()?;
        disk.mount_again()?;
        Ok(disk)
    }

    fn sh(&self, script: &str) -> Result<(), String> {
        done(Command::new("sh").args(["-c", script]), self.0.path())
    }

    fn cut(&self) -> Result<(), String> {
        done(Command::new("perl").args(["-e", CUT, "m"]), self.0.path())
    }

    fn mount_again(&self) -> Result<(), String> {
        self.sh("umount m && mount -o loop image m")
    }

    fn place(&self) -> Place {
        Place::at(self.0.path().join("m"))
    }
}

fn done(command: &mut Command, folder: &Path) -> Result<(), String> {
    let ran = command.current_dir(folder).stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| error.to_string())?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.sh("umount m");
    }
}

pub fn run(seed: &mut Seed, rows: &mut Vec<Row>) {
    let disk = match Disk::new() {
        Ok(disk) => disk,
        Err(why) => return skipped("power cuts", &why),
    };
    let mode = &simple_modes()[1];
    let place = disk.place();
    place.fill(mode, RECORDS);
    let whole = match place.finish(mode, &["-j", "2"]) {
        Ok(whole) => whole,
        Err(wrong) => return println!("power cuts: {wrong}"),
    };
    // The input is on the disk for good.
    if let Err(wrong) = disk.sh("sync") {
        return skipped("power cuts", &wrong);
    }
    let mut after = Row::new("the power goes after status 0");
    for n in 0..cases(50).min(200) {
        after.count(after_the_end(&disk, mode, &whole, n % 2 == 0));
    }
    after.done(rows);
    let mut within = Row::new("the power goes in the run");
    for _ in 0..cases(50).min(200) {
        within.count(in_the_run(&disk, mode, &whole, seed));
    }
    within.done(rows);
}

/// All that was told to be done is there.
fn after_the_end(disk: &Disk, mode: &Mode, whole: &Came, resumes: bool) -> Result<(), String> {
    let place = disk.place();
    let options = match resumes {
        true => vec!["--resume"],
        false => vec![],
    };
    let ran = place.run(&[], mode, &options);
    disk.cut()?;
    disk.mount_again()?;
    if ran.status.code() != Some(3) {
        return Err(format!("it ended with {}", ran.status));
    }
    let files = ["out", "bad", "bad.errors.ndjson"];
    let there = files.map(|name| std::fs::read(place.path(name)).ok());
    let left = place.path("out.checkpoint").exists() || place.path("out.part").exists();
    place.empty(mode);
    match (whole.has(&there), left) {
        (false, _) => Err("a file is not whole".to_owned()),
        (_, true) => Err("the state was left".to_owned()),
        _ => Ok(()),
    }
}

fn in_the_run(disk: &Disk, mode: &Mode, whole: &Came, seed: &mut Seed) -> Result<(), String> {
    let place = disk.place();
    for _ in 0..1 + seed.below(3) {
        let options = ["-j", "2", "--resume", "--checkpoint-every", "1ms"];
        let mut child = place
            .command(&[], mode, &options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        thread::sleep(seed.time(Duration::from_millis(250)));
        disk.cut()?;
        let _ = child.kill();
        let _ = child.wait();
        disk.mount_again()?;
    }
    let came = place.finish(mode, &["--resume"]);
    place.empty(mode);
    came?.is(whole)
}
