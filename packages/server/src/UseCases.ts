import { Accounts } from "@berth/domain/accounts/Accounts"
import { Credentials } from "@berth/domain/accounts/Credentials"
import { Users } from "@berth/domain/accounts/Users"
import { Wallets } from "@berth/domain/accounts/Wallets"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { AgentRoster } from "@berth/domain/agents/AgentRoster"
import { Agents } from "@berth/domain/agents/Agents"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { Allowances } from "@berth/domain/billing/Allowances"
import { TokenGate } from "@berth/domain/gating/TokenGate"
import { CellKeeper } from "@berth/domain/instances/CellKeeper"
import { CellTokens } from "@berth/domain/instances/CellTokens"
import { Instances } from "@berth/domain/instances/Instances"
import * as LocalAgentManager from "@berth/domain/instances/LocalAgentManager"
import { Conversations } from "@berth/domain/interaction/Conversations"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { CredentialsSignIn } from "@berth/domain/signin/CredentialsSignIn"
import { WalletLinking } from "@berth/domain/signin/WalletLinking"
import { WalletNonces } from "@berth/domain/signin/WalletNonces"
import { WalletProofs } from "@berth/domain/signin/WalletProofs"
import { WalletSignIn } from "@berth/domain/signin/WalletSignIn"
import { Layer } from "effect"

/*
 * The use cases behind each listener, over the ports. What they need of the outside is provided by the program, or by a test.
 */

/** Behind both listeners. */
export const shared = Layer.mergeAll(Sessions.Default, Allowances.Default)

/** Sign-in by wallet, and the wallets of an account. */
const wallets = Layer.merge(WalletSignIn.Default, WalletLinking.Default).pipe(
  Layer.provideMerge(Layer.merge(WalletProofs.Default, Wallets.Default)),
  Layer.provideMerge(WalletNonces.Default)
)

/** Behind the public listener. */
export const web = Layer.mergeAll(
  Accounts.Default,
  CredentialsSignIn.Default,
  wallets,
  TokenGate.Default,
  Conversations.Default,
  AgentConfiguration.Default
).pipe(
  Layer.provideMerge(Credentials.Default),
  Layer.provideMerge(Agents.Default),
  Layer.provideMerge(Instances.Default)
)

/** Behind the private listener. */
export const backend = Layer.mergeAll(AiLayer.Default, AgentRoster.Default, CellTokens.Default)

/** The agent manager in this process, which keeps this host's cells. */
export const agentManager = LocalAgentManager.layer.pipe(
  Layer.provide(CellKeeper.Default),
  Layer.provide(Layer.merge(Users.Default, AgentRoster.Default))
)
