import { parseWalletAddress, WalletAddress } from "@berth/domain/chain/WalletAddress"
import type { GatingToken } from "@berth/domain/gating/TokenGate"
import { Array, Config, type ConfigError, Either, Option, Record, Redacted } from "effect"
import { failWithAll, findGroupErrors, invalid, readList, readParsed } from "./SettingReaders.ts"

/* Readers of the chain settings; `Settings` defines their names. */

/** Reads a node's address, which may contain a key; errors never contain it, even if malformed. */
export const readNodeUrl = (name: string): Config.Config<Redacted.Redacted<URL>> =>
  Config.redacted(name).pipe(
    Config.mapOrFail((text) => {
      const value = Redacted.value(text)
      return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
        ? Either.right(Redacted.make(new URL(value)))
        : Either.left(invalid(name, "must be an http or https URL"))
    })
  )

export const readRpcUrl = (name: string, fallback: string): Config.Config<Redacted.Redacted<URL>> =>
  Config.withDefault(readNodeUrl(name), Redacted.make(new URL(fallback)))

export const readWalletAddress = (name: string): Config.Config<WalletAddress> =>
  readParsed(name, parseWalletAddress, "must be 0x and 40 hex digits")

interface GatingNames {
  readonly address: string
  readonly symbol: string
  readonly minBalance: string
}

const maximumBalance = 2n ** 256n - 1n

const readMinBalance = (text: string): Option.Option<bigint> =>
  /^\d{1,78}$/.test(text)
    ? Option.filter(Option.some(BigInt(text)), (balance) => balance > 0n && balance <= maximumBalance)
    : Option.none()

const readToken = (
  names: GatingNames,
  values: Readonly<Record<keyof GatingNames, Option.Option<string>>>
): Either.Either<Option.Option<GatingToken>, ConfigError.ConfigError> => {
  const address = Option.flatMap(values.address, parseWalletAddress)
  const minBalance = Option.flatMap(values.minBalance, readMinBalance)
  const isMalformed = (text: Option.Option<string>, value: Option.Option<unknown>) =>
    Option.isSome(text) && Option.isNone(value)
  const errors = [
    ...(isMalformed(values.address, address) ? [invalid(names.address, "must be 0x and 40 hex digits")] : []),
    ...(isMalformed(values.minBalance, minBalance)
      ? [invalid(names.minBalance, "must be a whole number of the token's smallest units, at least 1")]
      : []),
    ...findGroupErrors(Record.mapEntries(names, (name, key) => [name, values[key]]))
  ]
  return Array.isNonEmptyReadonlyArray(errors)
    ? failWithAll(errors)
    : Either.right(
        Option.map(Option.all({ address, symbol: values.symbol, minBalance }), (token) => ({
          ...token,
          chain: "base" as const
        }))
      )
}

/** Reads the settings of the gating token: all or none. */
export const readGatingToken = (names: GatingNames): Config.Config<Option.Option<GatingToken>> =>
  Config.all({
    address: Config.option(Config.string(names.address)),
    symbol: Config.option(Config.string(names.symbol)),
    minBalance: Config.option(Config.string(names.minBalance))
  }).pipe(Config.mapOrFail((values) => readToken(names, values)))

const bytes32 = /^0x[0-9a-fA-F]{64}$/

const parseSchema = Option.liftPredicate((text: string) => bytes32.test(text))

/** Schema of Coinbase's attestations of verified accounts on Base. */
const coinbaseSchema = "0xf8b05c79f090979bf4a80270aba232dff11a10d9ca55c4f88de95317970f0de9"
const coinbaseAttester = WalletAddress.make("0x357458739F90461b99789350868CD7CF330Dd7EE")
const coinbaseIndexer = WalletAddress.make("0x2c7eE1E5f416dfF40054c27A62f7B357C4E8619C")
/** Predeployed contract of every OP Stack chain. */
const easAddress = WalletAddress.make("0x4200000000000000000000000000000000000021")

export const readVerificationSettings = (names: {
  readonly easAddress: string
  readonly easSchemas: string
  readonly easAttesters: string
  readonly coinbaseIndexer: string
  readonly coinbaseSchema: string
  readonly coinbaseAttester: string
}) =>
  Config.all({
    eas: Config.all({
      address: Config.withDefault(readWalletAddress(names.easAddress), easAddress),
      schemas: Config.withDefault(
        readList(names.easSchemas, parseSchema, "must be 0x and 64 hex digits, comma-separated"),
        [coinbaseSchema]
      ),
      attesters: Config.withDefault(
        readList(names.easAttesters, parseWalletAddress, "must be 0x and 40 hex digits, comma-separated"),
        [coinbaseAttester]
      )
    }),
    coinbase: Config.all({
      indexer: Config.withDefault(readWalletAddress(names.coinbaseIndexer), coinbaseIndexer),
      schema: Config.withDefault(
        readParsed(names.coinbaseSchema, parseSchema, "must be 0x and 64 hex digits"),
        coinbaseSchema
      ),
      attester: Config.withDefault(readWalletAddress(names.coinbaseAttester), coinbaseAttester)
    })
  })
