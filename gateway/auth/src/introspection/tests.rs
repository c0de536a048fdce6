//! Introspection of opaque tokens.

use moongate_config::{IssuerConfig, KeyLocation, Secret};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::claims::SubjectNaming;

/// [`MAX_REQUESTS`] as a number of tasks.
const REQUESTS: usize = 16;

fn endpoint(address: std::net::SocketAddr) -> Arc<IntrospectionEndpoint> {
    let introspection = IntrospectionConfig {
        endpoint: Some(format!("http://{address}/introspect").parse().unwrap()),
        client_id: "gate".to_owned(),
        client_secret: Secret::new("secret"),
    };
    let issuer = IssuerConfig {
        issuer: "https://a.example".into(),
        audiences: vec!["gate".to_owned()],
        keys: KeyLocation::Discovered,
        introspection: None,
        name_claim: None,
    };
    let rules = Arc::new(ClaimRules::new(&issuer, SubjectNaming::Plain));
    IntrospectionEndpoint::new(&introspection, rules, Arc::new(IssuerClient::new(None)))
}

async fn answer(mut stream: TcpStream) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await.unwrap();
    let body = json!({ "active": false }).to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn introspection_requests_wait_for_their_turn() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = endpoint(listener.local_addr().unwrap());
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..4 * REQUESTS {
        let endpoint = Arc::clone(&endpoint);
        asked.spawn(async move {
            let token = format!("token-{}", number / 2); // every token is sent by two requests
            let peer = Caller::from_address([192, 0, 2, u8::try_from(number % 4).unwrap()].into());
            endpoint.verify(&token, Digest::of(token.as_bytes()), &peer).await
        });
    }
    let mut connections = Vec::new();
    while connections.len() < REQUESTS {
        connections.push(listener.accept().await.unwrap().0);
    }
    assert_eq!(endpoint.turns.used(), MAX_REQUESTS);
    for connection in connections {
        answer(connection).await;
    }
    for _ in 0..REQUESTS {
        answer(listener.accept().await.unwrap().0).await;
    }
    while let Some(result) = asked.join_next().await {
        assert_eq!(result.unwrap().err(), Some(AuthenticationError::Refused(TokenProblem::Inactive)));
    }
    assert!(endpoint.running.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_peer_with_many_tokens_leaves_turns_to_others() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = endpoint(listener.local_addr().unwrap());
    let ask = |token: String, peer: [u8; 4]| {
        let endpoint = Arc::clone(&endpoint);
        tokio::spawn(async move {
            let digest = Digest::of(token.as_bytes());
            endpoint.verify(&token, digest, &Caller::from_address(peer.into())).await
        })
    };
    let _guesses: Vec<_> = (0..500).map(|number| ask(format!("guess-{number}"), [192, 0, 2, 1])).collect();
    // The issuer doesn't respond yet, and the guesses wait.
    let mut connections = vec![listener.accept().await.unwrap().0];
    let honest = ask("honest".to_owned(), [192, 0, 2, 2]);
    // One turn of the issuer, with some guesses, and the next one has the other peer's token.
    while !honest.is_finished() {
        for connection in connections.drain(..) {
            answer(connection).await;
        }
        assert!(endpoint.turns.used() <= MAX_REQUESTS);
        let mut next = Vec::new();
        while next.len() < 8 {
            tokio::select! {
                accepted = listener.accept() => next.push(accepted.unwrap().0),
                () = tokio::time::sleep(Duration::from_millis(100)) => break,
            }
        }
        connections = next;
    }
    assert!(honest.await.unwrap().is_err());
    assert!(
        endpoint.turns.is_waiting(&Caller::from_address([192, 0, 2, 1].into())),
        "the guesses still wait"
    );
}
