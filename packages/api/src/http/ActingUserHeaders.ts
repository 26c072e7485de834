// Headers from the web API to the backend. They count only together with the internal key.

/** The id of the acting user. */
export const actingUserHeader = "x-berth-acting-user"
/** The client address. */
export const clientAddressHeader = "x-berth-client-address"
