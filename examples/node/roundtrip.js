// Produces, consumes in a group of three of which one is killed, consumes again in a second group, and checks all of it.
// The group's members are processes of their own, started from client.js; see its consume command for what they print.
'use strict'

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const kafka = require('./kafka')

const PARTITIONS = 6
const COMPRESSED = 2000
const CODECS = ['gzip', 'snappy', 'lz4', 'zstd']

// All that a group's members reported, and the verdict on it.
class Seen {
  constructor (total) {
    this.total = total
    this.records = new Map() // "partition/offset" → {partition, offset, key, sequence, member}
    this.committed = new Map() // partition → offset
    this.duplicates = 0
    this.problems = []
  }

  complete () { return this.records.size === this.total }

  record (member, partition, offset, key, sequence) {
    const at = `${partition}/${offset}`
    const first = this.records.get(at)
    if (!first) {
      this.records.set(at, { partition, offset, key, sequence, member })
      return
    }
    this.duplicates++
    // A second delivery is right only where the first went to a member that died before it committed.
    if (!first.member.killed || offset < (this.committed.get(partition) || 0)) {
      this.problems.push(`partition ${partition} offset ${offset} came to member ${first.member.id} and again to ${member.id}`)
    }
  }

  // Checks that all came and that each key's sequence rises with the offset.
  finish () {
    if (!this.complete()) this.problems.push(`${this.records.size} of ${this.total} records arrived`)
    const next = new Map()
    const inOrder = [...this.records.values()].sort((a, b) => a.partition - b.partition || a.offset - b.offset)
    for (const { partition, offset, key, sequence } of inOrder) {
      if (sequence !== (next.get(key) || 0)) this.problems.push(`key ${key} is out of order at ${partition}/${offset}`)
      next.set(key, sequence + 1)
    }
    if (this.problems.length) throw new Error(this.problems.slice(0, 5).join('; '))
  }
}

class Group {
  constructor (bootstrap, topic, name, members, total) {
    this.seen = new Seen(total)
    this.members = Array.from({ length: members }, (_, id) => this.start(id, [
      path.join(__dirname, 'client.js'), 'consume', '--bootstrap', bootstrap, '--topic', topic, '--group', name]))
  }

  start (id, args) {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const member = { id, child, assigned: [], killed: false, ended: once(child, 'close') }
    let partial = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      const lines = (partial + text).split('\n')
      partial = lines.pop() // what the kill cut short is no line
      lines.forEach(line => this.take(member, line))
    })
    return member
  }

  take (member, line) {
    const [kind, ...rest] = line.split(' ')
    if (kind === 'assigned') {
      member.assigned = rest[0] ? rest[0].split(',') : []
    } else if (kind === 'record') {
      this.seen.record(member, Number(rest[0]), Number(rest[1]), rest[2], Number(rest[3]))
    } else if (kind === 'committed') {
      const [partition, offset] = rest.map(Number)
      this.seen.committed.set(partition, Math.max(offset, this.seen.committed.get(partition) || 0))
    }
  }

  settled () {
    const all = this.members.flatMap(m => m.assigned)
    return this.members.every(m => m.assigned.length) && new Set(all).size === PARTITIONS && all.length === PARTITIONS
  }

  killOne () {
    this.members[0].killed = true
    this.members[0].child.kill('SIGKILL')
  }

  async stop () {
    for (const { child, killed } of this.members) if (!killed) child.kill('SIGTERM')
    for (const { id, ended, killed } of this.members) {
      const [code, signal] = await ended
      if (code !== 0 && !killed) this.seen.problems.push(`member ${id} ended with ${code ?? signal}`)
    }
  }

  destroy () { this.members.forEach(({ child }) => child.kill('SIGKILL')) }
}

async function until (done, seconds) {
  for (const deadline = Date.now() + seconds * 1000; !done();) {
    if (Date.now() > deadline) return false
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return true
}

// Keyed records; each key's values count on from set to set.
function records (count, next) {
  return Array.from({ length: count }, (_, i) => {
    const key = `key-${i % 997}`
    const sequence = next.get(key) || 0
    next.set(key, sequence + 1)
    return { key, value: `${sequence} ${'.'.repeat(80)}` }
  })
}

async function produceAll (bootstrap, topic, plain) {
  const next = new Map()
  await kafka.produce(bootstrap, topic, 'none', records(plain, next))
  for (const codec of CODECS) await kafka.produce(bootstrap, topic, codec, records(COMPRESSED, next))
}

async function firstGroup (bootstrap, topic, plain, total) {
  const name = `${topic}-first`
  const group = new Group(bootstrap, topic, name, 3, total)
  try {
    if (!await until(() => group.settled(), 20)) throw new Error('the group did not settle')
    const produced = produceAll(bootstrap, topic, plain)
    produced.catch(() => {}) // looked at below
    await until(() => group.seen.records.size >= total / 2, 40)
    group.killOne()
    await produced
    await until(() => group.seen.complete(), 40)
    await group.stop()
    group.seen.finish()
  } finally {
    group.destroy()
  }
  const behind = await kafka.lag(bootstrap, topic, name)
  if (behind !== 0) throw new Error(`lag is ${behind}`)
  return group.seen.duplicates
}

async function secondGroup (bootstrap, topic, total) {
  const name = `${topic}-second`
  const group = new Group(bootstrap, topic, name, 1, total)
  try {
    await until(() => group.seen.complete(), 40)
    await group.stop()
    group.seen.finish()
  } finally {
    group.destroy()
  }
  const behind = await kafka.lag(bootstrap, topic, name)
  if (behind !== 0) throw new Error(`second group: lag is ${behind}`)
}

async function run (bootstrap, topic, plain) {
  const start = Date.now()
  const total = plain + COMPRESSED * CODECS.length
  await kafka.createTopic(bootstrap, topic, PARTITIONS)
  const duplicates = await firstGroup(bootstrap, topic, plain, total)
  await secondGroup(bootstrap, topic, total)
  console.log(`ok client=kafkajs records=${total} groups=2 duplicates=${duplicates} seconds=${((Date.now() - start) / 1000).toFixed(1)}`)
}

module.exports = { run }
