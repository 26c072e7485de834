// Headers from the web API to the backend; valid only with the internal key.

/** Id of the acting user. */
export const actingUserHeader = "x-berth-acting-user"
/** Client address. */
export const clientAddressHeader = "x-berth-client-address"
