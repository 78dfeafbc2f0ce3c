// Package e2e tests a running server from outside: with real clients in six languages, and with requests written by hand where a client
// would hide what is looked at. Nothing here imports the server; it is a module of its own, so that the clients' dependencies stay out
// of Millrace's.
//
// # Which server
//
// With BOOTSTRAP=host:port,… in the environment the tests use the brokers there, of Millrace or any other Kafka; CONSOLE=host:port is
// its control port, if it has one. Without it they start `millrace server` (MILLRACE_BIN, else built from ../cmd/millrace): one of three
// brokers for all tests, and one of its own for each test that needs settings, the process, or an empty server. Those are left
// out with BOOTSTRAP.
//
// # Files
//
//	server.go     start, stop and ask a server
//	clients.go    run external programs; which tools are there
//	raw.go        requests over a plain socket, record batches made by hand
//	proxy.go      stands between client and broker during the clients' tests and checks each answer
//	codes.go      the error codes that clients can bear, API by API
//	clients/      small scripts for single cases, by language
//	chaos/        a program of its own: several processes that are killed and cut off, and a checker
//	*_test.go     the tests, grouped by kind; a number such as A05 names the field report a test comes from
//
// # Tools
//
// .ci/setup-clients.sh installs them. A test whose tool is missing is skipped, with MILLRACE_E2E_ALL=1 it fails.
package e2e
