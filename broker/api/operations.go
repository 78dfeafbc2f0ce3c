package api

// Bits of authorized_operations (KIP-430). Without an authorizer everything that applies to a resource is allowed.
const (
	opRead            = 1 << 3
	opWrite           = 1 << 4
	opCreate          = 1 << 5
	opDelete          = 1 << 6
	opAlter           = 1 << 7
	opDescribe        = 1 << 8
	opClusterAction   = 1 << 9
	opDescribeConfigs = 1 << 10
	opAlterConfigs    = 1 << 11
	opIdempotentWrite = 1 << 12

	clusterOperations = opCreate | opAlter | opDescribe | opClusterAction | opDescribeConfigs | opAlterConfigs |
		opIdempotentWrite
	topicOperations = opRead | opWrite | opCreate | opDelete | opAlter | opDescribe | opDescribeConfigs |
		opAlterConfigs
	groupOperations = opRead | opDelete | opDescribe | opDescribeConfigs | opAlterConfigs
)
