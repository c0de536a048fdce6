//! Streams of responses that move between two servers.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_broken_stream_resumes_on_another_replica() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut events = client.events(a, &streaming(7, "a_slow")).await;
    next(&mut events).await.unwrap();
    let (id, first) = next(&mut events).await.unwrap();
    assert_eq!(first["params"]["progress"], 1);
    drop(events);
    let mut events = client.listen(b, Some(&id)).await;
    assert_eq!(next(&mut events).await.unwrap(), (id, Value::Null), "the priming event");
    replicas.gate.notify_one();
    let (id, second) = next(&mut events).await.unwrap();
    assert_eq!(second["params"]["progress"], 2);
    drop(events);
    replicas.gate.notify_one();
    tokio::time::sleep(Duration::from_millis(10)).await;
    replicas.gate.notify_one();
    for server in [b, a] {
        let mut events = client.listen(server, Some(&id)).await;
        next(&mut events).await.unwrap();
        let (third_id, third) = next(&mut events).await.unwrap();
        assert_eq!(third["params"]["progress"], 3);
        let (last, response) = next(&mut events).await.unwrap();
        assert_eq!((&response["id"], next(&mut events).await), (&json!(7), None));
        assert_ne!(third_id, last);
        let HttpAnswer::Whole(reply) = client.get(server, Some(&last)).await else { panic!("a stream") };
        assert_eq!(reply.status, 204);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_too_long_for_the_store_ends_a_resume_at_once() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut events = client.events(a, &streaming(7, "a_too_long")).await;
    next(&mut events).await.unwrap();
    let (id, _) = next(&mut events).await.unwrap();
    drop(events);
    tokio::time::sleep(Duration::from_millis(10)).await;
    let mut elsewhere = client.listen(b, Some(&id)).await;
    next(&mut elsewhere).await.unwrap();
    let (_, response) = next(&mut elsewhere).await.unwrap();
    let error = &response["error"];
    assert_eq!(
        (&response["id"], &error["data"]["reason"]),
        (&json!(7), &json!("too_large_to_resume")),
        "{error}"
    );
    assert_eq!(next(&mut elsewhere).await, None);
    let mut here = client.listen(a, Some(&id)).await;
    next(&mut here).await.unwrap();
    let (_, response) = next(&mut here).await.unwrap();
    let text = response["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 1 << 20, "its own replica has the response");
}

#[tokio::test(start_paused = true)]
async fn long_messages_are_stored_one_after_another() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut ids = Vec::new();
    for id in 1..=3 {
        let mut events = client.events(a, &streaming(id, "a_long")).await;
        next(&mut events).await.unwrap();
        ids.push(next(&mut events).await.unwrap().0);
    }
    replicas.store.set_failing(true);
    replicas.gate.notify_waiters();
    tokio::time::sleep(Duration::from_millis(10)).await;
    replicas.store.set_failing(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    for id in &ids {
        let mut events = client.listen(b, Some(id)).await;
        next(&mut events).await.unwrap();
        let (_, response) = next(&mut events).await.unwrap();
        assert_eq!(response["result"]["content"][0]["text"].as_str().map(str::len), Some(700_000));
        assert_eq!(next(&mut events).await, None);
    }
    let most = replicas.store.most_appended();
    assert!((700_000..=1 << 20).contains(&most), "{most}");
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_until_the_store_has_it() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut streams = Vec::new();
    for id in 1..=3 {
        let mut events = client.events(a, &streaming(id, "a_long")).await;
        next(&mut events).await.unwrap();
        let (id, _) = next(&mut events).await.unwrap();
        streams.push((id, events));
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    replicas.store.set_failing(true);
    replicas.gate.notify_waiters();
    let mut ids = Vec::new();
    for (id, mut events) in streams {
        next(&mut events).await.unwrap();
        assert_eq!(next(&mut events).await, None, "delivered, as far as the gateway knows");
        ids.push(id);
    }
    replicas.store.set_failing(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    for id in &ids {
        let mut events = client.listen(b, Some(id)).await;
        next(&mut events).await.unwrap();
        let (_, response) = next(&mut events).await.unwrap();
        assert!(response["result"].is_object() && next(&mut events).await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_lost_replica_end_with_an_error() {
    let mut replicas = Replicas::start();
    let client = replicas.session().await;
    let mut events = client.events(&replicas.servers[0], &streaming(7, "a_slow")).await;
    next(&mut events).await.unwrap();
    let (id, _) = next(&mut events).await.unwrap();
    drop(events);
    tokio::time::sleep(Duration::from_millis(10)).await;
    drop(replicas.servers.remove(0));
    let mut events = client.listen(&replicas.servers[0], Some(&id)).await;
    next(&mut events).await.unwrap();
    let (last, response) = next(&mut events).await.unwrap();
    let error = &response["error"];
    assert_eq!(
        (&response["id"], &error["code"], &error["data"]["retry"]),
        (&json!(7), &json!(-32603), &json!(true))
    );
    assert_eq!(next(&mut events).await, None);
    let HttpAnswer::Whole(reply) = client.get(&replicas.servers[0], Some(&last)).await else {
        panic!("a stream")
    };
    assert_eq!(reply.status, 204);
}
