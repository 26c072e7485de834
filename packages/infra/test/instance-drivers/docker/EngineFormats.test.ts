import { describeContainerExit } from "@berth/infra/instance-drivers/docker/ContainerExit"
import { toContainerFigures } from "@berth/infra/instance-drivers/docker/ContainerFigures"
import { EngineAddress, parseEngineAddress } from "@berth/infra/instance-drivers/docker/EngineAddress"
import { EngineRequestRejected } from "@berth/infra/instance-drivers/docker/EngineErrors"
import { joinLogFrames } from "@berth/infra/instance-drivers/docker/LogFrames"
import { makeTarArchive } from "@berth/infra/instance-drivers/docker/TarArchive"
import { assert, describe, it } from "@effect/vitest"
import { Either, Option } from "effect"
import { execFileSync } from "node:child_process"

describe("parseEngineAddress", () => {
  it.each([
    ["unix:///var/run/docker.sock", null, EngineAddress.Socket({ path: "/var/run/docker.sock" })],
    ["tcp://10.0.0.1:2375", null, EngineAddress.Tcp({ origin: "http://10.0.0.1:2375", certificates: null })],
    ["tcp://engine", "/certs", EngineAddress.Tcp({ origin: "https://engine:2376", certificates: "/certs" })],
    ["https://engine:1", null, EngineAddress.Tcp({ origin: "https://engine:1", certificates: null })]
  ])("parseEngineAddress reads %s", (host, certificates, expected) => {
    assert.deepStrictEqual(parseEngineAddress(host, certificates), Either.right(expected))
  })

  it.each(["", "unix://", "unix://relative", "ssh://engine", "engine:2375", "tcp://"])(
    "parseEngineAddress rejects %o",
    (host) => {
      assert.isTrue(Either.isLeft(parseEngineAddress(host, null)))
    }
  )
})

const frame = (stream: number, text: string) => {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0])
  header.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([header, Buffer.from(text)])
}

describe("joinLogFrames", () => {
  it("joinLogFrames joins the frames of both outputs, also of a character in two frames", () => {
    const [first, second] = [Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1)]
    const half = (part: Buffer) => Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, 1]), part])
    const all = Buffer.concat([frame(1, "one\n"), frame(2, "two\n"), half(first), half(second)])
    assert.strictEqual(joinLogFrames(all), "one\ntwo\né")
  })

  it("joinLogFrames drops an unfinished frame", () => {
    assert.strictEqual(joinLogFrames(Buffer.concat([frame(1, "one\n"), frame(1, "two\n").subarray(0, 10)])), "one\n")
  })
})

describe("makeTarArchive", () => {
  it("makeTarArchive makes an archive that tar reads with names, modes, owners and contents", () => {
    const archive = makeTarArchive([
      { path: "home/", mode: 0o700, uid: 65_534 },
      { path: "home/token", mode: 0o400, uid: 65_534, content: "secret" }
    ])
    const list = execFileSync("tar", ["--list", "--verbose", "--numeric-owner", "--file=-"], {
      input: archive
    }).toString()
    assert.match(list, /^drwx------ 65534\/65534 +0 .* home\/\n-r-------- 65534\/65534 +6 .* home\/token\n$/)
    const content = execFileSync("tar", ["--extract", "--to-stdout", "--file=-", "home/token"], { input: archive })
    assert.strictEqual(content.toString(), "secret")
  })
})

describe("describeContainerExit", () => {
  const state = { Error: "", ExitCode: 0, OOMKilled: false }

  it("describeContainerExit names the memory limit after an out-of-memory kill", () => {
    assert.include(describeContainerExit({ ...state, ExitCode: 137, OOMKilled: true }, 256, "line"), "256 MB of memory")
  })

  it("describeContainerExit names the signal, or the exit code, and the last log line", () => {
    assert.strictEqual(describeContainerExit({ ...state, ExitCode: 137 }, 256, ""), "signal SIGKILL")
    assert.strictEqual(
      describeContainerExit({ ...state, ExitCode: 3 }, 256, "oh"),
      "exit code 3; its last log line: oh"
    )
  })

  it("describeContainerExit prefers the engine's own error", () => {
    assert.include(describeContainerExit({ ...state, ExitCode: 127, Error: "no such file" }, 256, ""), "no such file")
  })
})

describe("toContainerFigures", () => {
  const sample = {
    pids_stats: { current: 12 },
    cpu_stats: { cpu_usage: { total_usage: 2_000_000_000 } },
    memory_stats: { usage: 100, limit: 1000, stats: { total_inactive_file: 30 } },
    networks: { eth0: { rx_bytes: 1, tx_bytes: 2 }, eth1: { rx_bytes: 10, tx_bytes: 20 } }
  }

  it("toContainerFigures sums the networks and leaves out the file cache", () => {
    assert.deepStrictEqual(
      toContainerFigures(sample),
      Option.some({ cpuMs: 2000, memoryBytes: 70, networkReceivedBytes: 11, networkSentBytes: 22, pids: 12 })
    )
  })

  it("toContainerFigures returns none of a container that is not running", () => {
    assert.deepStrictEqual(toContainerFigures({ ...sample, pids_stats: {} }), Option.none())
  })
})

describe("EngineRequestRejected", () => {
  it("EngineRequestRejected explains how to free a full disk", () => {
    const error = new EngineRequestRejected({
      operation: "POST /containers/create",
      status: 500,
      reason: "write /data/x: no space left on device"
    })
    assert.match(error.message, /disk of the Docker Engine is full\. Free space/)
  })
})
