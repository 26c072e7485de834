import { Data } from "effect"

/** The caller is not an administrator. */
export class AdministratorRequired extends Data.TaggedError("AdministratorRequired")<object> {}
