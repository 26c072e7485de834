import { Data } from "effect"

/** The user has a wallet of this kind. */
export class UserWalletExists extends Data.TaggedError("UserWalletExists")<object> {}
export class UserWalletNotFound extends Data.TaggedError("UserWalletNotFound")<object> {}
export class SeedExportDisabled extends Data.TaggedError("SeedExportDisabled")<object> {}
/** The text is not a private key of secp256k1. */
export class PrivateKeyInvalid extends Data.TaggedError("PrivateKeyInvalid")<object> {}
/** The sealed key of a wallet cannot be opened: its key-encryption key is missing, or the row was modified. */
export class WalletKeyUnavailable extends Data.TaggedError("WalletKeyUnavailable")<object> {}
