//! Pipes, FIFOs, pseudo files, and waits that end.

use std::process::Command;
use std::time::Instant;

use super::*;

fn fifo(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("fifo");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

/// The writing end, which does not wait for a reader.
fn writing_end(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
fn a_fifo_is_read_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(folder.path());
    let whole = sample(3_000_000);
    Origin::Path(path.clone()).check().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            fs::write(&path, &whole).unwrap()
        });
        let mut input = open_path(&path, &MAPPED);
        assert_eq!(input.size(), None);
        assert!(input.watch().is_none());
        let all = read_all(&mut input, 64 << 10);
        assert!(all == whole);
    });
}

#[test]
fn a_fifo_without_a_byte_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(folder.path());
    thread::scope(|scope| {
        scope.spawn(|| File::options().write(true).open(&path).unwrap());
        assert!(read_all(&mut open_path(&path, &MAPPED), 100).is_empty());
    });
}

#[test]
fn a_drained_pipe_is_told_before_the_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(folder.path());
    let mut writer = writing_end(&path);
    let mut input = open_path(&path, &READ);
    writer.write_all(b"one\ntwo\n").unwrap();
    assert_eq!(input.more(100).unwrap(), More::Drained);
    assert_eq!(input.front(), b"one\ntwo\n");
    input.take(4);
    writer.write_all(b"three\n").unwrap();
    assert_eq!(input.more(100).unwrap(), More::Drained);
    assert_eq!(input.front(), b"two\nthree\n");
    // Enough is at hand, then not: what came with the last read has not been told.
    writer.write_all(b"four\n").unwrap();
    assert_eq!(input.more(12).unwrap(), More::Ready);
    input.take(10);
    assert_eq!(input.more(100).unwrap(), More::Drained);
    assert_eq!(input.front(), b"four\n");
    drop(writer);
    assert_eq!(input.more(100).unwrap(), More::End);
    assert_eq!(input.front(), b"four\n");
}

#[test]
fn pseudo_files_are_read_to_their_end() {
    let paths = [
        "/proc/filesystems",
        "/proc/cpuinfo",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/dev/null",
    ];
    for path in paths
        .map(Path::new)
        .into_iter()
        .filter(|path| path.exists())
    {
        let whole = fs::read(path).unwrap();
        for options in [MAPPED, READ] {
            Origin::Path(path.into()).check().unwrap();
            let mut input = open_path(path, &options);
            assert_eq!(read_all(&mut input, 100), whole, "{path:?}");
            if let Some(mut watch) = input.watch() {
                assert_eq!(watch.check(b"", 0).unwrap(), None);
            }
        }
    }
}

#[test]
fn a_refused_window_is_read_instead() {
    fn refuse(_: &File, _: u64, _: usize) -> io::Result<mapped::Pages> {
        Err(io::ErrorKind::OutOfMemory.into())
    }
    fn refuse_later(file: &File, offset: u64, len: usize) -> io::Result<mapped::Pages> {
        if offset > 30_000 {
            return refuse(file, offset, len);
        }
        map_pages(file, offset, len)
    }
    let whole = sample(100_000);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&whole).unwrap();
    let ways: [mapped::Map; 2] = [refuse, refuse_later];
    for map in ways {
        let mut input = open_path(file.path(), &MAPPED);
        let regular = match &input.way {
            Way::Mapped(mapped) => mapped.regular().clone(),
            Way::Stream(_) => panic!("not mapped"),
        };
        input.way = Way::Mapped(Mapped::new(file.path(), regular, 10_000, map));
        follow(&mut input, &whole, &[(3000, 2500), (12_000, 4000)]);
        assert!(matches!(input.way, Way::Stream(_)));
    }
}

#[test]
fn a_window_is_shared_by_its_chunks_and_follows_the_front() {
    let whole = sample(100_000);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&whole).unwrap();
    let options = OpenOptions {
        window: 20_000,
        ..MAPPED
    };
    let mut input = open_path(file.path(), &options);
    input.more(5000).unwrap();
    assert_eq!(input.front().len(), 20_000);
    let first = input.take(5000);
    let second = input.take(5000);
    assert!(first.is_mapped() && second.is_mapped());
    assert_eq!(first.as_ptr().wrapping_add(5000), second.as_ptr());
    assert_eq!(input.more(50_000).unwrap(), More::Ready);
    assert_eq!(input.front(), &whole[10_000..60_000]);
    assert_eq!(*second.clone(), whole[5000..10_000]);
}

#[test]
fn a_waker_ends_a_wait_for_a_pipe() {
    // With and, where opening does not wait, without someone at the other end.
    for with_writer in [true, cfg!(not(target_os = "linux"))] {
        // A new one each time: a process that another test starts can hold the first one's writing end open for a moment more.
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(folder.path());
        let waker = Waker::default();
        let origin = Origin::Path(path.clone());
        let _writer = with_writer.then(|| writing_end(&path));
        let mut input = Input::open(origin, &READ, &recycler(), &waker).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                waker.wake();
            });
            let begun = Instant::now();
            assert!(matches!(input.more(10), Err(InputError::Stopped)));
            assert!(begun.elapsed() > Duration::from_millis(40));
        });
        assert!(matches!(input.more(10), Err(InputError::Stopped)));
    }
}

#[test]
fn no_wake_up_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(folder.path());
    let _writer = writing_end(&path);
    for _ in 0..500 {
        let waker = Waker::default();
        let origin = Origin::Path(path.clone());
        let mut input = Input::open(origin, &READ, &recycler(), &waker).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            assert!(matches!(input.more(10), Err(InputError::Stopped)));
        });
    }
}

#[test]
fn a_closed_output_ends_a_wait_for_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(folder.path());
    let mut writer = writing_end(&path);
    let waker = Waker::default();
    let origin = Origin::Path(path);
    let mut input = Input::open(origin, &READ, &recycler(), &waker).unwrap();
    let (reading, output) = io::pipe().unwrap();
    waker.watch_closed(output.into());
    writer.write_all(b"one").unwrap();
    assert_eq!(input.more(10).unwrap(), More::Drained);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            drop(reading);
        });
        assert!(matches!(input.more(10), Err(InputError::Stopped)));
    });
    assert!(!waker.is_woken());
}

#[test]
fn a_non_blocking_descriptor_is_waited_for() {
    let (reader, mut writer) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    let raw = Raw::new(Feed::pipe(file), 0, Waker::default());
    let mut stream = Stream::new(Box::new(raw), 0, 100, recycler(), Waker::default());
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..3 {
                thread::sleep(Duration::from_millis(10));
                writer.write_all(b"ab").unwrap();
            }
        });
        while stream.more(100).unwrap() != More::End {}
    });
    assert_eq!(stream.front(), b"ababab");
}

/// Standard input can only be put in place for a process of its own: this test runs itself.
#[test]
fn standard_input_is_read_from_where_it_stands() {
    const SHOWN: &str = "INORDER_TEST_STDIN";
    if let Some(map) = std::env::var_os(SHOWN) {
        let options = OpenOptions {
            map: map == "map",
            ..MAPPED
        };
        Origin::Stdin.check().unwrap();
        let mut input = open(Origin::Stdin, &options);
        let size = input.size();
        let all = read_all(&mut input, 7000);
        println!("<{size:?} {}>", all == sample(20_000)[5000..]);
        return;
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&sample(20_000)).unwrap();
    for map in ["map", "read"] {
        io::Seek::seek(&mut file, io::SeekFrom::Start(5000)).unwrap();
        let name = "input::tests::unix::standard_input_is_read_from_where_it_stands";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(SHOWN, map)
            .stdin(file.try_clone().unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("<Some(15000) true>"), "{text}");
    }
}
