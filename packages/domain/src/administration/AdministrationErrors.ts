import { Data } from "effect"

export class AdministratorRequired extends Data.TaggedError("AdministratorRequired")<object> {}
/** The user has never had an instance. */
export class UserInstanceMissing extends Data.TaggedError("UserInstanceMissing")<object> {}
/** Instances of suspended accounts do not start. */
export class UserSuspended extends Data.TaggedError("UserSuspended")<object> {}
/** Administrators cannot be suspended. */
export class AdministratorProtected extends Data.TaggedError("AdministratorProtected")<object> {}
