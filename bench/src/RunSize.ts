/** Sample sizes and durations of a run. */
export interface RunSize {
  readonly startups: number
  /** Owners that provision in sequence, after `warmUpOwners` uncounted ones. */
  readonly owners: number
  readonly warmUpOwners: number
  readonly ownersAtOnce: number
  readonly timesAtOnce: number
  readonly connections: ReadonlyArray<number>
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  /** A round ends after this many requests or at its time limit. */
  readonly roundRequests: number
  /** Streamed answers per round whose first delta is timed. */
  readonly streams: number
  /** Chats of messaging channels that write at once, and the messages of a round. */
  readonly chatsAtOnce: ReadonlyArray<number>
  readonly channelMessages: number
  /** Jobs of a full queue and round. */
  readonly jobs: number
  /** Answers that stream at a model's pace at once, and the owners of their agents. */
  readonly pacedLoads: ReadonlyArray<{ readonly streams: number; readonly owners: number }>
  /** Paced answers per connection and round. */
  readonly pacedStreams: number
  readonly ownersInCrowd: number
  readonly agentsEach: number
  readonly settleSeconds: number
  /** Owners of idle sockets, with `socketsEach` of them. */
  readonly socketOwners: number
  readonly socketsEach: number
  /** Owners whose instances start one by one, then sleep and wake this many times. */
  readonly coldStarts: number
  readonly wakeRounds: number
  readonly wakesAtOnce: number
  readonly sleepingOwners: number
  readonly awakeOwners: number
  readonly sleepersWoken: number
}

export const fullRun: RunSize = {
  startups: 5,
  owners: 30,
  warmUpOwners: 3,
  ownersAtOnce: 20,
  timesAtOnce: 3,
  connections: [1, 10, 50],
  rounds: 5,
  roundSeconds: 3,
  warmUpSeconds: 3,
  roundRequests: 50_000,
  streams: 100,
  chatsAtOnce: [1, 100],
  channelMessages: 300,
  jobs: 2000,
  pacedLoads: [
    { streams: 1, owners: 1 },
    { streams: 40, owners: 1 },
    { streams: 200, owners: 20 }
  ],
  pacedStreams: 3,
  ownersInCrowd: 50,
  agentsEach: 4,
  settleSeconds: 10,
  socketOwners: 32,
  socketsEach: 64,
  coldStarts: 10,
  wakeRounds: 4,
  wakesAtOnce: 100,
  sleepingOwners: 1000,
  awakeOwners: 50,
  sleepersWoken: 40
}

export const quickRun: RunSize = {
  ...fullRun,
  startups: 2,
  owners: 6,
  warmUpOwners: 1,
  timesAtOnce: 1,
  rounds: 2,
  roundSeconds: 1,
  warmUpSeconds: 0.5,
  streams: 25,
  channelMessages: 50,
  jobs: 500,
  pacedStreams: 1,
  ownersInCrowd: 5,
  settleSeconds: 3,
  socketOwners: 8,
  coldStarts: 3,
  wakeRounds: 2,
  wakesAtOnce: 10,
  sleepingOwners: 100,
  awakeOwners: 5,
  sleepersWoken: 5
}
