import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { makePostgresEnvironment } from "../../src/embedded-postgres/PostgresAccount.ts"
import { classifyStartFailure } from "@berth/infra/embedded-postgres/StartFailure"

const stamp = "2026-11-20 10:00:00.000 UTC [42] "

describe("makePostgresEnvironment", () => {
  it.each([undefined, "", "/nonexistent"])(
    "makePostgresEnvironment finds the system's programs with PATH %s",
    (path) => {
      assert.include(makePostgresEnvironment(path).PATH.split(":"), "/usr/bin")
    }
  )
})

describe("classifyStartFailure", () => {
  it.each([
    ["Locked", `${stamp}FATAL:  lock file "postmaster.pid" already exists`],
    ["Locked", `${stamp}FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use`],
    [
      "PortTaken",
      `${stamp}LOG:  could not bind IPv4 address "127.0.0.1": Address already in use\n${stamp}FATAL:  could not create any TCP/IP sockets`
    ],
    [
      "SocketRefused",
      `${stamp}LOG:  could not bind Unix address "./.s.PGSQL.5432": Operation not supported\n${stamp}FATAL:  could not create any Unix-domain sockets`
    ],
    ["RecoveryIncomplete", `${stamp}FATAL:  could not create file "base/5/17319": File exists`],
    ["Other", `${stamp}FATAL:  could not create file "base/5/17319": No space left on device`],
    ["Other", `${stamp}FATAL:  invalid value for parameter "max_connections": "many"`]
  ])("classifyStartFailure classifies %s as %s", (tag, log) => {
    const failure = classifyStartFailure(log)
    assert.strictEqual(failure._tag, tag)
    assert.include(failure.message, "FATAL")
  })

  it.prop("classifyStartFailure always has a message", [fc.string()], ([log]) => {
    assert.notStrictEqual(classifyStartFailure(log).message.trim(), "")
  })
})
