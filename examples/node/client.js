// Usage: node client.js roundtrip|consume|partition-of [KEY …] [--bootstrap HOST:PORT,…] [--topic T] [--group G] [--records N]
//
// consume prints a line for each thing that happens: "assigned P,P,…", "record P OFFSET KEY VALUE" (the value up to its first
// space), "committed P OFFSET"; it leaves the group and ends at SIGTERM.
'use strict'

const { parseArgs } = require('node:util')
const kafka = require('./kafka')

const { values: options, positionals: [command, ...keys] } = parseArgs({
  allowPositionals: true,
  options: {
    bootstrap: { type: 'string', default: process.env.BOOTSTRAP || '127.0.0.1:9092' },
    topic: { type: 'string', default: `example-node-${process.pid}` },
    group: { type: 'string', default: 'example-node' },
    records: { type: 'string', default: '100000' },
  },
})

function tell (kind, ...what) {
  if (kind === 'assigned') return process.stdout.write(`assigned ${what[0].join(',')}\n`)
  if (kind === 'committed') return process.stdout.write(`committed ${what.join(' ')}\n`)
  const [partition, messages] = what
  process.stdout.write(messages.map(m => `record ${partition} ${m.offset} ${m.key} ${String(m.value).split(' ')[0]}\n`).join(''))
}

async function partitionOf () {
  await kafka.createTopic(options.bootstrap, options.topic, 6)
  const placed = await kafka.produce(options.bootstrap, options.topic, 'none', keys.map(key => ({ key, value: '0' })), 1)
  console.log(JSON.stringify(Object.fromEntries(placed.map(([{ partition }], i) => [keys[i], partition]))))
}

async function main () {
  switch (command) {
    case 'consume': {
      const stop = new Promise(resolve => ['SIGTERM', 'SIGINT'].forEach(name => process.once(name, resolve)))
      return kafka.consume(options.bootstrap, options.topic, options.group, stop, tell)
    }
    case 'partition-of':
      return partitionOf()
    case 'roundtrip':
      return require('./roundtrip').run(options.bootstrap, options.topic, Number(options.records))
    default:
      throw new Error('usage: node client.js roundtrip|consume|partition-of [KEY …] [--bootstrap …] [--topic …] [--group …]')
  }
}

main().then(() => process.exit(0), error => {
  console.log(`failed client=kafkajs: ${error.stack}`)
  process.exit(1)
})
