// Command millrace is the one binary: the server, its console, and the tools around it. It is wiring only: flags and
// environment become a config.Config, the work is done by package millrace and, for the console, over a socket.
//
//	millrace server --brokers 3             three brokers on 127.0.0.1:9092-9094, the console on 9090
//	millrace console                        talks to it
//	millrace console CREATE_TOPIC t 6       one command, then out
//	millrace demo                           a tour that prints what it does
//	millrace bench list                     what can be measured, and against what
//	millrace version
//
// # Where a setting comes from
//
// --config FILE, then the environment (MILLRACE_… and KAFKA_…), then --set name=value: the later one wins. A value that
// can't be used stops the start with its place, its name and what was expected.
//
// # Exit codes
//
//	0  done, or stopped as asked (SIGINT, SIGTERM)
//	1  failed; the reason is on stderr
//	2  wrong usage
package main
