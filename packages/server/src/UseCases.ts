import { Accounts } from "@berth/domain/accounts/Accounts"
import { Credentials } from "@berth/domain/accounts/Credentials"
import { Users } from "@berth/domain/accounts/Users"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { AgentRoster } from "@berth/domain/agents/AgentRoster"
import { Agents } from "@berth/domain/agents/Agents"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { Allowances } from "@berth/domain/billing/Allowances"
import { CellKeeper } from "@berth/domain/instances/CellKeeper"
import { CellTokens } from "@berth/domain/instances/CellTokens"
import { GatewayAccess } from "@berth/domain/instances/GatewayAccess"
import { Instances } from "@berth/domain/instances/Instances"
import * as LocalAgentManager from "@berth/domain/instances/LocalAgentManager"
import { Conversations } from "@berth/domain/interaction/Conversations"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { CredentialsSignIn } from "@berth/domain/signin/CredentialsSignIn"
import { Layer } from "effect"

/*
 * The use cases behind each listener, over the ports. What they need of the outside is provided by the program, or by a test.
 */

/** Behind both listeners. */
export const shared = Layer.mergeAll(Sessions.Default, Allowances.Default)

/** Behind the public listener. */
export const web = Layer.mergeAll(
  Accounts.Default,
  CredentialsSignIn.Default,
  Conversations.Default,
  AgentConfiguration.Default,
  GatewayAccess.Default
).pipe(
  Layer.provideMerge(Users.Default),
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
