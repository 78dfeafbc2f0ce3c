package replica_test

import (
	"strings"
	"testing"
)

// rules has each rule in a few lines of script. What is wanted are the effects of the last line.
var rules = []struct{ name, script, want string }{
	{"R1: an ISR entry of another life doesn't count, though that life fetches", `
		metadata
		append
		fetch 3@c off=1 last=0
		metadata replicas=1@a,2@e,3@c
		fetch 2@e off=1 last=0`, "answer fetch : ok high 0 start 0"},
	{"R1: nor does the life that the entry is of, when another is registered", `
		metadata
		append
		fetch 3@c off=1 last=0
		metadata replicas=1@a,2@e,3@c
		fetch 2@b off=1 last=0`, "answer fetch : StaleIncarnation high -1 start -1 at once"},
	{"R1: nor is it counted for min.insync.replicas", `
		metadata isr=1@a,2@b
		append as=p
		metadata replicas=1@a,2@e,3@c pe=0`, "complete p NotEnoughReplicasAfterAppend"},
	{"R1: it is taken out by the controller, or left out of what the leader proposes", `
		metadata isr=1@a,2@b
		fetch 3@c off=0
		metadata replicas=1@a,2@e,3@c pe=0
		altered 1 err=IneligibleReplica`, "alter 2 in 0/0: isr [1@a] ceiling 1000"},
	{"R2: the broker in another life is no leader", `metadata leader=1@9`, ""},
	{"R2: and no follower of itself", `
		metadata leader=2@b
		metadata leader=1@9 epoch=1`, "stop fetching; Offline in epoch 1"},
	{"R4: fenced and back is the same replica", `
		metadata isr=1@a,2@b
		append
		fetch 2@b off=1 last=0
		fetch 3@c off=1 last=0
		metadata fenced=3
		metadata fenced=0`, "alter 2 in 0/2: isr [1@a 2@b 3@c] ceiling 1000"},
	{"R6: a log of another loss generation is of no use", `
		metadata leader=2@b
		answer records=2:0 high=2
		metadata gen=1 epoch=1 base=1000`,
		"stop fetching; reset at 1000; high watermark 1000; Follower in epoch 1; fetch 2@b epoch 1 offset 1000 after epoch -1"},
	{"R6: nothing above the ceiling", `
		metadata ceiling=10
		admit records=11`, "OffsetCeiling"},
	{"R6: up to it", `
		metadata ceiling=10
		admit records=10`, "ok"},

	{"HW: the least end in the ISR", `
		metadata
		append 3
		fetch 2@b off=1 last=0
		fetch 3@c off=2 last=0`, "high watermark 1; answer fetch : ok high 1 start 0"},
	{"HW: a member that has not fetched holds it", `
		metadata
		append 3
		fetch 2@b off=3 last=0`, "answer fetch : ok high 0 start 0"},
	{"HW: of the maximal ISR: one that is proposed holds it", `
		metadata isr=1@a,2@b
		fetch 2@b off=0
		fetch 3@c off=0
		append
		metadata fenced=3 pe=0
		fetch 2@b off=1 last=0`, "answer fetch : ok high 0 start 0"},
	{"HW: one that is to leave holds it too", `
		metadata
		append
		fetch 2@b off=1 last=0
		+101 tick
		fetch 2@b off=1 last=0`, "answer fetch : ok high 0 start 0"},
	{"HW: not without min.insync.replicas", `
		metadata isr=1@a fenced=2,3
		append
		show`, "Leader epoch 0/0 loss 0 log 0…1 high 0 waiting 0 in ISR true; isr [1@a]; " +
		"follower 2@b end -1 in ISR false behind -1 ms; follower 3@c end -1 in ISR false behind -1 ms"},
	{"HW: one that keeps up holds it before it is a member, until it lags", `
		metadata isr=1@a,2@b fenced=3
		fetch 2@b off=0
		fetch 3@c off=0
		metadata fenced=0 pe=0
		append as=p
		altered 1 err=IneligibleReplica
		altered 2 pe=1
		+60 fetch 2@b off=1 last=0
		+41 tick`, "high watermark 1; complete p ok"},
	{"join: all below the high watermark", `
		metadata isr=1@a,2@b fenced=3
		fetch 3@c off=0
		append
		fetch 2@b off=1 last=0
		metadata fenced=0`, ""},
	{"join: all below the epoch's start", `
		metadata leader=2@b
		answer records=3:0
		metadata leader=1@a epoch=1 isr=1@a,2@b
		fetch 3@c off=2 last=0
		+1 fetch 3@c off=2 last=0`, "answer fetch : ok high 0 start 0"},
	{"join: in this epoch", `
		metadata isr=1@a,2@b
		metadata epoch=1
		fetch 3@c off=0 epoch=0`, "answer fetch : FencedLeaderEpoch high -1 start -1 at once"},
	{"join: not while it is fenced", `
		metadata isr=1@a,2@b fenced=3
		fetch 3@c off=0`, "answer fetch : ok high 0 start 0"},
	{"join: in the life that is registered", `
		metadata isr=1@a,2@b
		fetch 3@d off=0`, "answer fetch : StaleIncarnation high -1 start -1 at once"},
	{"join: otherwise", `
		metadata isr=1@a,2@b
		fetch 3@c off=0`, "alter 1 in 0/0: isr [1@a 2@b 3@c] ceiling 1000; answer fetch : ok high 0 start 0"},

	{"alter: refused though nobody would join: the metadata will tell why", `
		metadata ceiling=400
		altered 1 err=IneligibleReplica
		deadline`, "in 50 ms"},
	{"acks: refused before the append", `
		metadata isr=1@a fenced=2,3
		append as=p`, "refused: NotEnoughReplicas"},
	{"acks: too few after it", `
		metadata
		append as=p
		metadata isr=1@a fenced=2,3`, "isr changed; complete p NotEnoughReplicasAfterAppend"},
	{"acks: a shrunk ISR that is large enough lets it complete", `
		metadata
		append as=p
		fetch 2@b off=1 last=0
		metadata isr=1@a,2@b fenced=3`, "isr changed; high watermark 1; complete p ok"},
	{"acks: the leader has changed", `
		metadata
		append as=p
		metadata leader=2@b epoch=1`,
		"complete p NotLeader; Follower in epoch 1; fetch 2@b epoch 1 offset 1 after epoch 0"},
	{"acks: the same leader in the next epoch goes on", `
		metadata
		append as=p
		fetch 2@b off=1 last=0
		metadata epoch=1
		fetch 2@b off=1 last=0
		fetch 3@c off=1 last=0`, "high watermark 1; complete p ok; answer fetch : ok high 1 start 0"},
	{"acks: min.insync.replicas raised while it waits", `
		metadata isr=1@a,2@b fenced=3
		append as=p
		metadata min=3 pe=0`, "complete p NotEnoughReplicasAfterAppend"},
	{"acks: the partition goes", `
		metadata
		append as=p
		stop`, "complete p NotLeader; Offline in epoch 0"},

	{"ListOffsets: not before the high watermark is at the epoch's start", `
		metadata leader=2@b
		answer records=1:0
		metadata leader=1@a epoch=1
		offsets`, "OffsetNotAvailable"},
	{"truncation: by epoch, not by high watermark", `
		metadata leader=2@b
		answer records=3:0 high=1
		metadata leader=3@c epoch=1`, "Follower in epoch 1; fetch 3@c epoch 1 offset 3 after epoch 0"},
	{"truncation: to the leader's end of the epoch", `
		metadata leader=2@b
		answer records=3:0 high=1
		metadata leader=3@c epoch=1
		answer diverging=0 end=2`, "truncate to 2; fetch 3@c epoch 1 offset 2 after epoch 0"},
	{"truncation: or the follower's own", `
		metadata leader=2@b epoch=1
		answer records=2:0,2:1
		metadata leader=3@c epoch=2
		answer diverging=0 end=3`, "truncate to 2; fetch 3@c epoch 2 offset 2 after epoch 0"},
	{"truncation: an answer to an earlier log of the same length is none", `
		metadata leader=2@b epoch=1
		answer records=2:0
		metadata leader=3@c epoch=2
		answer diverging=0 end=1
		answer records=1:1
		answer last=0 diverging=0 end=1`, ""},
}

func TestRules(t *testing.T) {
	for _, tt := range rules {
		t.Run(tt.name, func(t *testing.T) {
			s, at := newScript(), 0
			for line := range strings.SplitSeq(strings.TrimSpace(tt.script), "\n") {
				at = s.out.Len()
				s.run(strings.Fields(line))
			}
			var got []string
			for line := range strings.Lines(s.out.String()[at:]) {
				got = append(got, strings.TrimSpace(line))
			}
			if got := strings.Join(got, "; "); got != tt.want {
				t.Errorf("got  %s\nwant %s\nall:\n%s", got, tt.want, s.out.String())
			}
		})
	}
}
