//! Small programs on rskafka for single cases: cases NAME BOOTSTRAP TOPIC ARGUMENT…; prints lines that the test reads.

use rskafka::client::partition::{Compression, OffsetAt, PartitionClient};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use std::collections::BTreeMap;
use std::error::Error;
use time::OffsetDateTime;

type Outcome = Result<(), Box<dyn Error>>;

async fn send(partition: &PartitionClient, value: &str) -> Outcome {
    let record = Record {
        key: None,
        value: Some(value.as_bytes().to_vec()),
        headers: BTreeMap::new(),
        timestamp: OffsetDateTime::now_utc(),
    };
    let offsets = partition.produce(vec![record], Compression::NoCompression).await?;
    println!("sent {}", offsets[0]);
    Ok(())
}

/// Makes the topic, sends ten records, deletes up to each offset that is named, and tells the bounds.
async fn delete_records(client: Client, topic: &str, offsets: &[String]) -> Outcome {
    client.controller_client()?.create_topic(topic, 1, 1, 5_000).await?;
    let partition = client.partition_client(topic, 0)?;
    for i in 0..10 {
        send(&partition, &format!("v{i}")).await?;
    }
    for offset in offsets {
        match partition.delete_records(offset.parse()?, 5_000).await {
            Ok(()) => println!("deleted {offset}"),
            Err(e) => println!("error {offset} {e}"),
        }
        let first = partition.get_offset(OffsetAt::Earliest).await?;
        let end = partition.get_offset(OffsetAt::Latest).await?;
        println!("bounds {first} {end}");
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let args: Vec<String> = std::env::args().collect();
    let bootstrap = args[2].split(',').map(str::to_owned).collect();
    let client = ClientBuilder::new(bootstrap).build().await?;
    match args[1].as_str() {
        "list-topics" => {
            for topic in client.list_topics().await? {
                println!("{}", topic.name);
            }
            Ok(())
        }
        "delete-records" => delete_records(client, &args[3], &args[4..]).await,
        name => Err(format!("no case {name}").into()),
    }
}
