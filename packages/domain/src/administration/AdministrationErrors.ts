import { Data } from "effect"

/** The caller is not an administrator. */
export class AdministratorRequired extends Data.TaggedError("AdministratorRequired")<object> {}
/** Administrators cannot be suspended. */
export class AdministratorProtected extends Data.TaggedError("AdministratorProtected")<object> {}
