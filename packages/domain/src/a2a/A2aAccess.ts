import type { UserId } from "../shared/UserId.ts"

/** Whether a sender may write to an agent: its owner always, others by the agent's list of users and agents. */
export const isSenderAllowed = (
  receiver: { readonly ownerId: UserId; readonly allow: ReadonlyArray<string> },
  sender: { readonly ownerId: UserId; readonly agentIds: ReadonlyArray<string> }
): boolean =>
  receiver.ownerId === sender.ownerId ||
  receiver.allow.includes(sender.ownerId) ||
  sender.agentIds.some((id) => receiver.allow.includes(id))
