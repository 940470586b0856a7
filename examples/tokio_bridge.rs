//! A bridge to tokio: requests come from an async task, are worked on by the crate's workers, and the results are awaited
//! in order. Both ends are bounded channels, so whoever is slow holds up the others.

use std::iter::from_fn;

use inorder::InOrder;
use tokio::sync::mpsc;

/// Work that would hold up an async runtime.
fn heavy(request: u64) -> u64 {
    (0..request % 5000).fold(request, |x, y| x.rotate_left(5) ^ y)
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() {
    let (ask, mut asked) = mpsc::channel::<u64>(100);
    let (answer, mut answers) = mpsc::channel::<u64>(100);

    let bridge = tokio::task::spawn_blocking(move || {
        let requests = from_fn(move || asked.blocking_recv());
        for result in requests.in_order().map(heavy) {
            // Nobody listens any more: dropping the results stops the work.
            if answer.blocking_send(result).is_err() {
                break;
            }
        }
    });
    let requests = tokio::spawn(async move {
        for request in 0..2000 {
            if ask.send(request).await.is_err() {
                break;
            }
        }
    });

    let mut count = 0;
    while let Some(result) = answers.recv().await {
        assert_eq!(result, heavy(count));
        count += 1;
    }
    println!("{count} answers, in order");
    assert_eq!(count, 2000);
    requests.await.expect("the requests are sent");
    bridge.await.expect("no work panics");
}
