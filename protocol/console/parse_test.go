package console

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// produce fills in what a Produce has when the line doesn't say.
func produce(p Produce) Produce {
	if p.Partition == 0 {
		p.Partition = -1
	}
	if p.TimestampMs == 0 {
		p.TimestampMs = -1
	}
	return p
}

var goodLines = map[string]Command{
	"":                               nil,
	" \t\r\n":                        nil,
	" # CREATE_BROKER":               nil,
	"CREATE_BROKER 127.0.0.1 9092":   CreateBroker{"127.0.0.1", 9092},
	"create_broker ::1 9092\r\n":     CreateBroker{"::1", 9092},
	"Create-Broker [::1] 0":          CreateBroker{"::1", 0},
	"CREATE_BROKER fe80::1%lo 1":     CreateBroker{"fe80::1%lo", 1},
	"CREATE_BROKER localhost 65535":  CreateBroker{"localhost", 65535},
	"CREATE_BROKER 0.0.0.0 9092":     CreateBroker{"0.0.0.0", 9092},
	"REMOVE_BROKER 3":                RemoveBroker{3, false},
	"REMOVE_BROKER 3 Now":            RemoveBroker{3, true},
	"ONLY_COPIES 3":                  OnlyCopies{3},
	"KILL_BROKER 3":                  KillBroker{3},
	"start-broker 3":                 StartBroker{3},
	"DRAIN 3":                        Drain{3, false},
	"DRAIN 3 cancel":                 Drain{3, true},
	"ELECT t 0":                      Elect{"t", 0, false},
	"ELECT t 1 Preferred":            Elect{"t", 1, false},
	"ELECT t 2 UNCLEAN":              Elect{"t", 2, true},
	"REASSIGN t 1 3,1,2":             Reassign{"t", 1, []int32{3, 1, 2}},
	"REASSIGN t 1 3":                 Reassign{"t", 1, []int32{3}},
	"REASSIGN t 1 cancel":            Reassign{"t", 1, nil},
	"BROKERS":                        Brokers{},
	"CREATE_TOPIC t":                 CreateTopic{"t", -1, -1, nil},
	"CREATE_TOPIC t 6":               CreateTopic{"t", 6, -1, nil},
	"CREATE_TOPIC t 6 1":             CreateTopic{"t", 6, 1, nil},
	"create_topic a=b t 6 c='d e' 1": CreateTopic{"t", 6, 1, map[string]string{"a": "b", "c": "d e"}},
	"CREATE_TOPIC t retention.ms=":   CreateTopic{"t", -1, -1, map[string]string{"retention.ms": ""}},
	"DELETE_TOPIC t":                 DeleteTopic{"t"},
	"TOPICS":                         Topics{},
	"DESCRIBE_TOPIC t":               DescribeTopic{"t"},
	"PRODUCE t v":                    produce(Produce{Topic: "t", Value: []byte("v")}),
	`PRODUCE t ""`:                   produce(Produce{Topic: "t", Value: []byte{}}),
	"PRODUCE t null":                 produce(Produce{Topic: "t"}),
	"PRODUCE t 'null' key=null":      produce(Produce{Topic: "t", Value: []byte("null")}),
	"PRODUCE t partition=2 key=k v":  produce(Produce{Topic: "t", Partition: 2, Key: []byte("k"), Value: []byte("v")}),
	"PRODUCE t v KEY= timestamp=7":   produce(Produce{Topic: "t", Key: []byte{}, Value: []byte("v"), TimestampMs: 7}),
	"PRODUCE t a=b":                  produce(Produce{Topic: "t", Value: []byte("a=b")}),
	`PRODUCE t "key=v"`:              produce(Produce{Topic: "t", Value: []byte("key=v")}),
	`PRODUCE t key\=v`:               produce(Produce{Topic: "t", Value: []byte("key=v")}),
	"PRODUCE t key=a=b offset=9 v":   produce(Produce{Topic: "t", Key: []byte("a=b"), Value: []byte("v")}),
	`PRODUCE t header=h header="a=b"="c=d"=e v`: produce(Produce{Topic: "t", Value: []byte("v"),
		Headers: []Header{{"h", nil}, {"a=b", []byte("c=d=e")}}}),
	`PRODUCE 주문 key="열쇠 1" '값 "둘"\n'`:                produce(Produce{Topic: "주문", Key: []byte("열쇠 1"), Value: []byte("값 \"둘\"\n")}),
	"PRODUCE　t　값":                                    produce(Produce{Topic: "t", Value: []byte("값")}),
	`PRODUCE t \x00\xff\u00e9\ud83d\ude00\U0001f600`: produce(Produce{Topic: "t", Value: []byte("\x00\xff\u00e9😀😀")}),
	`PRODUCE t \ \\\"\'\t\r`:                         produce(Produce{Topic: "t", Value: []byte(" \\\"'\t\r")}),
	"PRODUCE t \xff\xfe":                             produce(Produce{Topic: "t", Value: []byte("\xff\xfe")}),
	"CONSUME t 0 5":                                  Consume{"t", 0, Position{Zero, 5}, DefaultConsumeMax},
	"CONSUME t 0 start 100":                          Consume{"t", 0, Position{Start, 0}, 100},
	"CONSUME t 1 END":                                Consume{"t", 1, Position{End, 0}, DefaultConsumeMax},
	"CONSUME t 1 -3 3":                               Consume{"t", 1, Position{End, -3}, 3},
	"GROUPS":                                         Groups{},
	"LAG 'my group'":                                 Lag{"my group"},
	"STATUS":                                         Status{},
	"WATCH":                                          Watch{DefaultWatchInterval},
	"WATCH 0.5":                                      Watch{500 * time.Millisecond},
	"HELP":                                           Help{},
	"HELP create_topic":                              Help{"CREATE_TOPIC"},
	"FORMAT JSON":                                    Format{JSON},
	"format text":                                    Format{Text},
	"QUIT":                                           Quit{},
}

func TestParse(t *testing.T) {
	for line, want := range goodLines {
		got, err := Parse([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for line, want := range map[string]string{
		"CREATE_BROKER":                  "the IP address is missing; usage: CREATE_BROKER <IP> <Port>",
		"CREATE_BROKER 127.0.0.1":        "the port is missing, expected a number from 0 to 65535; usage: CREATE_BROKER <IP> <Port>",
		"CREATE_BROKER 127.0.0.1 x":      "the port is x, expected a number from 0 to 65535; usage: CREATE_BROKER <IP> <Port>",
		"CREATE_BROKER 127.0.0.1 65536":  "the port is 65536, expected a number from 0 to 65535; usage: CREATE_BROKER <IP> <Port>",
		"CREATE_BROKER [::1 9092":        `the IP address is "[::1", expected one such as 127.0.0.1, ::1 or 0.0.0.0, or a host name; usage: CREATE_BROKER <IP> <Port>`,
		"CREATE_BROKER 1:2 9092":         "the IP address is 1:2, expected one such as 127.0.0.1, ::1 or 0.0.0.0, or a host name; usage: CREATE_BROKER <IP> <Port>",
		"CREATE_BROKER 127.0.0.1 9092 x": "x is one word too many; usage: CREATE_BROKER <IP> <Port>",
		"ELECT t 0 dirty":                "the election is dirty, expected preferred or unclean; usage: ELECT <topic> <partition> [preferred|unclean]",
		"REASSIGN t 0 1,,2":              "the brokers' ids are 1,,2, expected such as 1,2,3, or cancel; usage: REASSIGN <topic> <partition> <id,id,...|cancel>",
		"REASSIGN t 0":                   "the brokers' ids are missing, expected such as 1,2,3, or cancel; usage: REASSIGN <topic> <partition> <id,id,...|cancel>",
		"KILL_BROKER":                    "the broker's id is missing, expected a number from 0 to 2147483647; usage: KILL_BROKER <id>",
		"REMOVE_BROKER one":              "the broker's id is one, expected a number from 0 to 2147483647; usage: REMOVE_BROKER <id> [now]",
		"TOPICS all":                     "all is one word too many; usage: TOPICS",
		"CREATE_TOPIC":                   "the topic's name is missing; usage: CREATE_TOPIC <name> [partitions] [replication-factor] [key=value ...]",
		"CREATE_TOPIC ''":                "the topic's name is empty; usage: CREATE_TOPIC <name> [partitions] [replication-factor] [key=value ...]",
		"CREATE_TOPIC t 0":               "the number of partitions is 0, expected a number from 1 to 2147483647; usage: CREATE_TOPIC <name> [partitions] [replication-factor] [key=value ...]",
		"CREATE_TOPIC t 1 1 a=1 a=2":     "a stands twice; usage: CREATE_TOPIC <name> [partitions] [replication-factor] [key=value ...]",
		"PRODUCE t":                      "the value is missing; usage: " + lookup("PRODUCE").usage(),
		"PRODUCE t hello world":          "world after the value: put quotes around a text with blanks; usage: " + lookup("PRODUCE").usage(),
		"PRODUCE t partition=-1 v":       "partition is -1, expected a number from 0 to 2147483647; usage: " + lookup("PRODUCE").usage(),
		"PRODUCE t timestamp=now v":      "timestamp is now, expected a number from 0; usage: " + lookup("PRODUCE").usage(),
		`PRODUCE t "v`:                   `the quote " in column 11 is never closed`,
		`PRODUCE 키 'v`:                   `the quote ' in column 11 is never closed`,
		`PRODUCE t a\`:                   "a backslash at the end of the line has nothing to escape",
		`PRODUCE t \q`:                   `\q in column 11: expected one of \n \r \t \\ \" \' \xHH \uHHHH`,
		"PRODUCE t \\\n@":                `\\n in column 11: expected one of \n \r \t \\ \" \' \xHH \uHHHH`,
		`PRODUCE t \키`:                   `\키 in column 11: expected one of \n \r \t \\ \" \' \xHH \uHHHH`,
		`PRODUCE t \u12`:                 `\u in column 11: expected 4 hexadecimal digits that name a character`,
		`PRODUCE t \ud800`:               `\u in column 11: expected 4 hexadecimal digits that name a character`,
		`PRODUCE t \ud800\ud800`:         `\u in column 11: expected 4 hexadecimal digits that name a character`,
		`PRODUCE t \U00110000`:           `\U in column 11: expected 8 hexadecimal digits that name a character`,
		`PRODUCE t \xg0`:                 `\x in column 11: expected 2 hexadecimal digits that name a character`,
		"CONSUME t 0":                    "the offset is missing, expected a number, start, end or -n; usage: " + lookup("CONSUME").usage(),
		"CONSUME t 0 first":              "the offset is first, expected a number, start, end or -n for the last n; usage: " + lookup("CONSUME").usage(),
		"CONSUME t 0 0 0":                "the number of records is 0, expected a number from 1 to 100000; usage: " + lookup("CONSUME").usage(),
		"WATCH 0":                        "the interval is 0, expected seconds from 0.1 to 3600; usage: WATCH [seconds]",
		"WATCH NaN":                      "the interval is NaN, expected seconds from 0.1 to 3600; usage: WATCH [seconds]",
		"FORMAT yaml":                    "expected text or json; usage: FORMAT <text|json>",
		"HELP TOPIX":                     "there is no command TOPIX; did you mean TOPICS?; usage: HELP [command]",
		"CREATE_TOPC t":                  "there is no command CREATE_TOPC; did you mean CREATE_TOPIC?",
		"create topic t":                 "there is no command CREATE; did you mean CREATE_TOPIC?",
		"EXIT":                           "there is no command EXIT; did you mean QUIT?",
		"xyzzyxyzzyxyzzy":                "there is no command XYZZYXYZZYXYZZY, HELP lists all",
		"\x16\x03\x01":                   `there is no command "\u0016\u0003\u0001", HELP lists all`,
		"GET / HTTP/1.1":                 "this is Millrace's control port, it doesn't speak HTTP",
		"Host: localhost:9090":           "this is Millrace's control port, it doesn't speak HTTP",
	} {
		c, err := Parse([]byte(line))
		if err == nil || c != nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", line, err, want)
		}
	}
}

func TestHangUp(t *testing.T) {
	for line, want := range map[string]bool{"POST /x HTTP/1.1": true, "host: a": true, "GET x": false, "CREATE": false} {
		if _, err := Parse([]byte(line)); err.(*UsageError).HangUp != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// The line belongs to the caller again after Parse.
func TestParseKeepsNothing(t *testing.T) {
	line := []byte("PRODUCE t key=abc header=h=v value")
	c, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	for i := range line {
		line[i] = 'X'
	}
	want := Produce{Topic: "t", Partition: -1, TimestampMs: -1, Key: []byte("abc"), Value: []byte("value"), Headers: []Header{{"h", []byte("v")}}}
	if d := cmp.Diff(Command(want), c); d != "" {
		t.Error(d)
	}
}
