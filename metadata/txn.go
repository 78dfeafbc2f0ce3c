package metadata

import (
	"fmt"
	"slices"
)

// Transactions turns deltas that were planned against img into what a Store
// carries out. Each delta writes its keys, and compares what it relies on: its
// own key as img knows it, its topic, and the registrations of the brokers that
// it gives partitions to, elects, or takes for dead. So a plan that was made
// against an image that is out of date conflicts, and does nothing.
//
// A delta is never cut in two; max is Store.TxnMax. With max 0 there is one Txn.
// A delta that relies on a key that an earlier one of the plan writes holds
// only if both are in one Txn; else the second conflicts, and is planned again.
func (img *Image) Transactions(deltas []Delta, max int) []Txn {
	var txns []Txn
	b := txnBuilder{img: img}
	for _, d := range deltas {
		compares, ops := len(b.txn.Compares), len(b.txn.Ops)
		b.add(d)
		if max > 0 && (len(b.txn.Compares) > max || len(b.txn.Ops) > max) && ops > 0 {
			txns = append(txns, Txn{Compares: b.txn.Compares[:compares], Ops: b.txn.Ops[:ops]})
			b = txnBuilder{img: img}
			b.add(d)
		}
	}
	if len(b.txn.Ops) > 0 {
		txns = append(txns, b.txn)
	}
	return txns
}

type txnBuilder struct {
	img      *Image
	txn      Txn
	compared map[string]struct{}
	brokers  []int32 // whose registrations are compared already
}

func (b *txnBuilder) add(d Delta) {
	switch d := d.(type) {
	case ClusterNamed:
		b.compare(keyCluster, 0)
		b.put(keyCluster, encodeCluster(d.ClusterID))
	case BrokerRegistered:
		b.compareBroker(d.Broker.ID)
		b.put(brokerKey(d.Broker.ID), encodeBroker(d.Broker))
	case BrokerChanged:
		b.compareBroker(d.Broker.ID)
		b.put(brokerKey(d.Broker.ID), encodeBroker(d.Broker))
	case BrokerRemoved:
		b.compareBroker(d.ID)
		b.put(brokerKey(d.ID), encodeBrokerGone())
	case BrokerAlive:
		b.compareBroker(d.ID)
		b.op(Op{Kind: OpPut, Key: aliveKey(d.ID), Value: encodeAlive(d.Incarnation), Lease: d.Lease})
	case BrokerSilent:
		b.op(Op{Kind: OpDelete, Key: aliveKey(d.ID)})
	case ControllerElected:
		b.compare(keyController, b.img.controller.Revision)
		b.op(Op{Kind: OpPut, Key: keyController, Value: encodeController(d.Name, d.Token), Lease: d.Lease})
	case ControllerResigned:
		b.compare(keyController, b.img.controller.Revision)
		b.op(Op{Kind: OpDelete, Key: keyController})
	case TopicCreated:
		b.createTopic(d.Topic)
	case TopicDeleted:
		b.compareTopic(d.Name, d.ID)
		b.op(Op{Kind: OpDelete, Key: topicKey(d.Name)})
		b.op(Op{Kind: OpDelete, Key: configKey(d.ID)})
		b.op(Op{Kind: OpDeletePrefix, Key: partitionsDir(d.ID)})
	case PartitionsAdded:
		t := b.compareTopic(d.Name, d.ID)
		b.compareReplicas(d.Partitions)
		b.put(topicKey(d.Name), encodeTopic(d.ID, t.Partitions, d.Partitions))
	case PartitionChanged:
		b.changePartition(d)
	case ConfigChanged:
		t := b.compareTopic(d.Name, d.ID)
		b.compare(configKey(d.ID), t.ConfigRevision)
		b.put(configKey(d.ID), encodeConfigs(d.Configs))
	case ResourceConfigChanged:
		b.changeResource(d)
	case ProducerIDsAllocated:
		b.compare(keyProducerIDs, b.img.producerIDRevision)
		b.put(keyProducerIDs, encodeProducerIDs(d.Next))
	default:
		panic(fmt.Sprintf("metadata: unknown delta %T", d))
	}
}

func (b *txnBuilder) createTopic(t *Topic) {
	b.compare(topicKey(t.Name), 0)
	b.compareReplicas(t.Partitions)
	b.put(topicKey(t.Name), encodeTopic(t.ID, t.Partitions))
	if len(t.Configs) > 0 {
		b.put(configKey(t.ID), encodeConfigs(t.Configs))
	}
}

func (b *txnBuilder) op(op Op)                     { b.txn.Ops = append(b.txn.Ops, op) }
func (b *txnBuilder) put(key string, value []byte) { b.op(Op{Kind: OpPut, Key: key, Value: value}) }

// compare adds each key once: the image knows one revision of it.
func (b *txnBuilder) compare(key string, revision int64) {
	if _, ok := b.compared[key]; ok {
		return
	}
	if b.compared == nil {
		b.compared = make(map[string]struct{})
	}
	b.compared[key] = struct{}{}
	b.txn.Compares = append(b.txn.Compares, Compare{Key: key, Revision: revision})
}

// compareBroker is called for every replica: it looks at a short list before it
// makes a key.
func (b *txnBuilder) compareBroker(id int32) {
	if slices.Contains(b.brokers, id) {
		return
	}
	b.brokers = append(b.brokers, id)
	var revision int64
	if br := b.img.Broker(id); br != nil {
		revision = br.Revision
	} else if i, ok := b.img.findRemoved(id); ok {
		revision = b.img.removed[i].revision
	}
	b.compare(brokerKey(id), revision)
}

func (b *txnBuilder) compareReplicas(partitions []Partition) {
	for i := range partitions {
		for _, id := range partitions[i].Replicas {
			b.compareBroker(id)
		}
	}
}

// changePartition compares the partition's own key. Only one that has none yet
// needs the topic's, which says that there is no key because nothing has
// changed: the other's is deleted with the topic. It saves every second compare of a
// failover.
func (b *txnBuilder) changePartition(d PartitionChanged) {
	old := &b.topic(d.Name, d.ID).Partitions[d.Index]
	if old.Revision == 0 {
		b.compareTopic(d.Name, d.ID)
	}
	b.compare(partitionKey(d.ID, d.Index), old.Revision)
	b.compareMembers(old, &d.Partition)
	b.put(partitionKey(d.ID, d.Index), encodePartition(&d.Partition))
}

// compareMembers compares the brokers that are elected, that come into the ISR or
// among the replicas, and, when the records are declared lost, those that had them:
// they must still be dead.
func (b *txnBuilder) compareMembers(old, next *Partition) {
	if next.Leader != NoBroker && next.LeaderEpoch != old.LeaderEpoch {
		b.compareBroker(next.Leader)
	}
	for i, id := range next.ISR {
		if old.InISR(id) != next.ISRIncarnations[i] {
			b.compareBroker(id)
		}
	}
	for _, id := range next.Replicas {
		if !old.HasReplica(id) {
			b.compareBroker(id)
		}
	}
	if next.LossGeneration != old.LossGeneration {
		for _, list := range [][]int32{old.ISR, old.ELR} {
			for _, id := range list {
				b.compareBroker(id)
			}
		}
	}
}

// topic finds what a delta is about.
func (b *txnBuilder) topic(name string, id TopicID) *Topic {
	t := b.img.TopicByID(id)
	if t == nil || t.Name != name {
		panic(fmt.Sprintf("metadata: a delta for topic %q, id %v, which isn't in the image", name, id))
	}
	return t
}

func (b *txnBuilder) compareTopic(name string, id TopicID) *Topic {
	t := b.topic(name, id)
	b.compare(topicKey(name), t.Revision)
	return t
}

// CompareController is a compare for what only the controller may do: it holds
// while whoever c is has that office, or, if c is empty, while nobody has it.
func CompareController(c ControllerElected) Compare { return Compare{keyController, c.Revision} }
