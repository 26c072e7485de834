import { Effect } from "effect"
import { execFile } from "node:child_process"

interface HostFirewallOptions {
  /** The host's interface on the network of instances. */
  readonly bridge: string
  /** Address and port that instances may access. */
  readonly host: string
  readonly port: number
}

type Rule = readonly [chain: string, ...match: ReadonlyArray<string>]

interface FirewallPlan {
  readonly chain: string
  readonly last: Rule
  /** Rules before all others of their chain. */
  readonly first: ReadonlyArray<Rule>
}

/** Blocks all ports of the host except one for a bridge. Several installations on a network add one port each. */
const makeFirewallPlan = ({ bridge, host, port }: HostFirewallOptions): FirewallPlan => {
  const chain = `BERTH-${bridge}`
  return {
    chain,
    last: [chain, "-j", "DROP"],
    first: [
      [chain, "-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "-j", "ACCEPT"],
      [chain, "-p", "tcp", "-d", host, "--dport", String(port), "-j", "ACCEPT"],
      ["INPUT", "-i", bridge, "-j", chain]
    ]
  }
}

/** Fails with the output of iptables. */
const iptables = (...args: ReadonlyArray<string>): Effect.Effect<void, string> =>
  Effect.async((resume) => {
    execFile("iptables", ["--wait", "10", ...args], { timeout: 15_000 }, (error, _output, errors) => {
      const [line = ""] = errors.trim().split("\n")
      resume(error === null ? Effect.void : Effect.fail(line === "" ? error.message : line))
    })
  })

const ensure = (command: "-A" | "-I", [chain, ...match]: Rule): Effect.Effect<void, string> =>
  Effect.orElse(iptables("-C", chain, ...match), () => iptables(command, chain, ...match))

/**
 * Adds the rules if this process has permission. Otherwise listeners on all addresses of the host stay accessible,
 * which is logged.
 */
export const closeHostPorts = (options: HostFirewallOptions): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { chain, first, last } = makeFirewallPlan(options)
    // The chain exists after the first start; any other failure recurs with its rules.
    yield* Effect.ignore(iptables("-N", chain))
    yield* Effect.forEach([last, ...first], (rule) => ensure(rule === last ? "-A" : "-I", rule), { discard: true })
  }).pipe(
    Effect.catchAll((error) =>
      Effect.logWarning("Host ports not closed to instances").pipe(
        Effect.annotateLogs({
          bridge: options.bridge,
          error,
          reason: "Run the backend as root with iptables, or bind other listeners of this host to 127.0.0.1."
        })
      )
    )
  )
