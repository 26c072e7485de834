import { Effect } from "effect"
import { execFile } from "node:child_process"

export interface HostFirewallOptions {
  /** The host's interface on the network of instances. */
  readonly bridge: string
  /** The address and port that instances may reach. */
  readonly host: string
  readonly port: number
}

type Rule = readonly [chain: string, ...match: ReadonlyArray<string>]

export interface FirewallPlan {
  readonly chain: string
  /** The last rule of the chain. */
  readonly last: Rule
  /** Rules that come before the others of their chain. */
  readonly first: ReadonlyArray<Rule>
}

/** Closes every port of the host to a bridge but one. Several installations on one network add a port each. */
export const makeFirewallPlan = ({ bridge, host, port }: HostFirewallOptions): FirewallPlan => {
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

/** Whether iptables accepted the command. */
const iptables = (...args: ReadonlyArray<string>): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    execFile("iptables", ["--wait", "10", ...args], { timeout: 15_000 }, (error) =>
      resume(Effect.succeed(error === null))
    )
  })

const ensure = (command: "-A" | "-I", [chain, ...match]: Rule): Effect.Effect<boolean> =>
  Effect.flatMap(iptables("-C", chain, ...match), (exists) =>
    exists ? Effect.succeed(true) : iptables(command, chain, ...match)
  )

/** Adds the rules where this process may. Elsewhere listeners on all addresses of the host stay reachable, which is logged. */
export const closeHostPorts = (options: HostFirewallOptions): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { chain, first, last } = makeFirewallPlan(options)
    // It exists after the first start.
    yield* iptables("-N", chain)
    const added = yield* Effect.forEach([last, ...first], (rule) => ensure(rule === last ? "-A" : "-I", rule))
    if (added.every((isIn) => isIn)) return
    yield* Effect.logWarning("Host ports not closed to instances").pipe(
      Effect.annotateLogs({
        bridge: options.bridge,
        reason: "Run the backend as root with iptables, or bind other listeners of this host to 127.0.0.1."
      })
    )
  })
