//! What a process gets on its standard input, and how it gets there.

use std::io;
use std::os::fd::BorrowedFd;

use super::child::Child;
use super::ready::{give, send};

/// Bytes on their way to a process.
pub struct Sent<'s> {
    /// What comes before the others.
    first: &'s [u8],
    bytes: &'s [u8],
    /// The file that `bytes` are mapped from, and where they begin in it. As long as the system moves them by itself.
    file: Option<(BorrowedFd<'s>, u64)>,
}

impl<'s> Sent<'s> {
    pub fn new(first: &'s [u8], bytes: &'s [u8], file: Option<(BorrowedFd<'s>, u64)>) -> Sent<'s> {
        Sent { first, bytes, file }
    }

    /// How much is left to be sent.
    pub fn left(&self) -> usize {
        self.first.len() + self.bytes.len()
    }

    /// Sends once, as much as there is room for.
    pub fn send(&mut self, child: &mut Child) -> io::Result<()> {
        if !self.first.is_empty() {
            let n = send(child, self.first)?;
            self.first = &self.first[n..];
            return Ok(());
        }
        let n = match self.file {
            Some((file, offset)) => {
                let moved = give(child, |pipe| splice(file, offset, pipe, self.bytes.len()));
                match moved {
                    // It is done by hand then. What is not there any more is noticed when it is touched.
                    Ok(Some(0)) | Err(_) => {
                        self.file = None;
                        send(child, self.bytes)?
                    }
                    Ok(moved) => moved.unwrap_or(0),
                }
            }
            None => send(child, self.bytes)?,
        };
        self.bytes = &self.bytes[n..];
        if let Some((_, offset)) = &mut self.file {
            *offset += n as u64;
        }
        Ok(())
    }
}

/// Lets a pipe share pages of the file.
#[cfg(target_os = "linux")]
fn splice(
    file: BorrowedFd<'_>,
    mut offset: u64,
    pipe: BorrowedFd<'_>,
    len: usize,
) -> rustix::io::Result<usize> {
    use rustix::pipe::SpliceFlags;
    rustix::pipe::splice(
        file,
        Some(&mut offset),
        pipe,
        None,
        len,
        SpliceFlags::NONBLOCK,
    )
}

#[cfg(not(target_os = "linux"))]
fn splice(
    _file: BorrowedFd<'_>,
    _offset: u64,
    _pipe: BorrowedFd<'_>,
    _len: usize,
) -> rustix::io::Result<usize> {
    Err(rustix::io::Errno::NOSYS)
}
