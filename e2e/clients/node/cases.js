// Small programs on kafkajs for single cases: cases.js NAME BOOTSTRAP ARGUMENT… Each prints lines that the test reads.
'use strict'

const { Kafka, logLevel } = require('kafkajs')

const [name, bootstrap, ...args] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'cases', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

const cases = {
  async 'list-topics' () {
    const admin = kafka.admin()
    await admin.connect()
    console.log((await admin.listTopics()).sort().join('\n'))
    await admin.disconnect()
  },

  async produce (topic, value) {
    const producer = kafka.producer({ allowAutoTopicCreation: true })
    await producer.connect()
    await producer.send({ topic, messages: [{ value }] })
    await producer.disconnect()
  },
}

cases[name](...args).then(() => process.exit(0), error => {
  console.error(error)
  process.exit(1)
})
