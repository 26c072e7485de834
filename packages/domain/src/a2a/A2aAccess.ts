import type { UserId } from "../shared/UserId.ts"

export interface A2aReceiver {
  readonly ownerId: UserId
  /** Users and agents of other owners. */
  readonly allow: ReadonlyArray<string>
}

export interface A2aSender {
  readonly ownerId: UserId
  readonly agentIds: ReadonlyArray<string>
}

/** Whether a sender may write to an agent: its owner always, others by the agent's list of users and agents. */
export const isSenderAllowed = (receiver: A2aReceiver, sender: A2aSender): boolean =>
  receiver.ownerId === sender.ownerId ||
  receiver.allow.includes(sender.ownerId) ||
  sender.agentIds.some((id) => receiver.allow.includes(id))
