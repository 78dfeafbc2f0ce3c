package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
	"millrace/protocol/kafka"
)

// ApiVersions, key 18, versions 0–5 (KIP-35, KIP-511, KIP-584, KIP-1242).
//
// The range of Produce begins at 0 though 0–2 are refused: older librdkafka takes a later beginning for a broker that
// can't compress, and then silently sends plain batches (KAFKA-18659). Apache Kafka does the same.
func (c *call) apiVersions(req *kmsg.ApiVersionsRequest) {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version >= 3 && !(validSoftware(req.ClientSoftwareName) && validSoftware(req.ClientSoftwareVersion)) {
		resp.ErrorCode = int16(protocol.InvalidRequest)
		c.answer(resp)
		return
	}
	resp.ApiKeys = kafka.Advertised()
	tellFeatures(resp, c.image().Revision())
	c.answer(resp)
}

// validSoftware is Kafka's rule for client_software_name and _version: [a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?,
// but an empty one is accepted: some clients (rskafka 0.3) have nothing to say.
func validSoftware(s string) bool {
	alnum := func(b byte) bool {
		return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
	}
	if s == "" {
		return true
	}
	if !alnum(s[0]) || !alnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !alnum(s[i]) && s[i] != '-' && s[i] != '.' {
			return false
		}
	}
	return true
}
