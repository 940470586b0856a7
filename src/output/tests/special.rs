//! Targets that are written as they stand.

use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_setfl};

use super::*;

/// The path of an open descriptor.
fn fd_path(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()))
}

fn pipe() -> (PipeReader, Output<'static>) {
    let (reader, writer) = io::pipe().unwrap();
    let output = open(fd_path(&writer));
    (reader, output)
}

fn hung_up(fd: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&now)).unwrap();
    fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[test]
fn a_device_is_written_and_stays() {
    publish(open("/dev/null"), b"gone");
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    let folder = folder();
    let link = folder.path().join("link");
    symlink("/dev/null", &link).unwrap();
    let output = open(&link);
    assert!(!output.can_be_taken_back());
    assert!(output.closed_fd().is_none());
    publish(output, b"gone");
    assert!(link.is_symlink());
}

#[test]
fn a_full_device_is_an_error_at_the_first_byte() {
    let mut output = open("/dev/full");
    let error = write(&mut output, b"x").unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(
        (error.path.as_path(), error.what),
        (Path::new("/dev/full"), "write")
    );
}

#[test]
fn a_fifo_is_written_and_stays() {
    let folder = folder();
    let path = folder.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    let from = path.clone();
    let reader = thread::spawn(move || fs::read(from).unwrap());
    let output = open(&path);
    assert!(output.closed_fd().is_some());
    publish(output, b"through the fifo");
    assert_eq!(reader.join().unwrap(), b"through the fifo");
    assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["fifo"]);
}

#[test]
fn a_socket_is_connected_to() {
    let folder = folder();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let output = open(&path);
    assert!(output.closed_fd().is_some());
    publish(output, b"through the socket");
    let mut got = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"through the socket");
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());
}

#[test]
fn an_open_file_is_written_where_it_stands() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "0123456789").unwrap();
    let mut file = File::options().write(true).open(&path).unwrap();
    file.seek(io::SeekFrom::Start(4)).unwrap();
    let output = open(fd_path(&file));
    assert!(!output.can_be_taken_back() && output.closed_fd().is_none());
    publish(output, b"ab");
    assert_eq!(fs::read(&path).unwrap(), b"0123ab6789");
    file.write_all(b"cd").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0123abcd89");
    assert_eq!(names(folder.path()), ["file"]);

    let file = File::options().append(true).open(&path).unwrap();
    publish(open(format!("/proc/self/fd/{}", file.as_raw_fd())), b"!");
    assert_eq!(fs::read(&path).unwrap(), b"0123abcd89!");
}

#[test]
fn an_open_file_without_a_name_is_written_too() {
    let mut file = tempfile::tempfile().unwrap();
    publish(open(fd_path(&file)), b"unlinked");
    let mut got = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut got).unwrap();
    assert_eq!(got, "unlinked");
}

#[test]
fn a_descriptor_that_cannot_be_written_is_refused() {
    let (reader, _writer) = io::pipe().unwrap();
    let error = refused(fd_path(&reader));
    assert_eq!(error.source.to_string(), "it is not open for writing");
    let error = refused("/dev/fd/987654");
    assert_eq!(error.what, "open");
}

#[test]
fn a_pipe_that_is_full_is_waited_for() {
    let (mut reader, writer) = io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    let mut output = open(fd_path(&writer));
    drop(writer);
    let pieces: Vec<Vec<u8>> = (0..5000u32)
        .map(|n| vec![n as u8; (n % 300) as usize])
        .collect();
    let whole = pieces.concat();
    let reading = thread::spawn(move || {
        let mut got = Vec::new();
        let mut block = [0; 10_000];
        loop {
            match reader.read(&mut block).unwrap() {
                0 => return got,
                n => got.extend_from_slice(&block[..n]),
            }
            if got.len() % 7 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let mut parts: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    output.write_all(&mut parts).unwrap();
    output.finish().unwrap();
    assert!(reading.join().unwrap() == whole);
}

#[test]
fn a_reader_that_goes_away_is_seen() {
    let (reader, mut output) = pipe();
    let watched = output.closed_fd().unwrap();
    write(&mut output, b"some").unwrap();
    assert!(!hung_up(&watched));
    drop(reader);
    soon(|| hung_up(&watched));
    let error = write(&mut output, b"more").unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn files_of_proc_are_written_directly() {
    let name = fs::read_to_string("/proc/thread-self/comm").unwrap();
    publish(open("/proc/thread-self/comm"), b"renamed");
    assert_eq!(
        fs::read_to_string("/proc/thread-self/comm").unwrap(),
        "renamed\n"
    );
    publish(open("/proc/thread-self/comm"), name.trim_end().as_bytes());
}
