//! Unit tests of requests: time limits.

use moongate_system::https_client::https_client;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// A server that sends one whole response, and then `rest`, on the same connection.
async fn server(rest: &'static str) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        stream.read(&mut request).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        stream.read(&mut request).await.unwrap();
        stream.write_all(rest.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    url
}

#[tokio::test]
async fn a_silent_server_times_out() {
    for (rest, body) in [("", ""), ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", ""), ("", "upload")] {
        let url = server(rest).await;
        let client = SourceClient::new(https_client(None), PlainHttpHosts::default());
        let mut request = SourceRequest::get(url, "*/*", 1024);
        // The connection is open and reused, so only the response is waited for.
        assert_eq!(client.send(request.clone()).await.unwrap().body, "ok");
        request.body = Bytes::from_static(body.as_bytes());
        tokio::time::pause();
        let error = client.send(request).await.unwrap_err();
        assert!(error.to_string().ends_with("timed out"), "{error}");
        tokio::time::resume();
    }
}
