// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Coinbase's indexer, as far as verification reads it.
contract TestIndexer {
    mapping(address => mapping(bytes32 => bytes32)) public getAttestationUid;

    function index(address recipient, bytes32 schema, bytes32 uid) external {
        getAttestationUid[recipient][schema] = uid;
    }
}

interface Registry {
    function resolver(bytes32 node) external view returns (address);
}

interface Resolver {
    function addr(bytes32 node) external view returns (address);
    function name(bytes32 node) external view returns (string memory);
    function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory);
    function supportsInterface(bytes4 id) external view returns (bool);
}

struct Query {
    address sender;
    string[] urls;
    bytes data;
}

interface BatchGateway {
    function query(Query[] calldata queries) external view returns (bool[] memory, bytes[] memory);
}

error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

/// ENS's universal resolver 3 over the real registry, as far as verification calls it; no npm package has its code.
contract TestUniversalResolver {
    error DNSEncodingFailed(string name);
    error ResolverNotFound(bytes name);
    error ResolverError(bytes errorData);
    error ReverseAddressMismatch(string primary, bytes primaryAddress);

    bytes32 private constant REVERSE = 0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2;
    Registry private immutable registry;

    constructor(Registry registry_) {
        registry = registry_;
    }

    function reverseWithGateways(bytes calldata wallet, uint256, string[] calldata gateways)
        external
        view
        returns (string memory, address, address)
    {
        bytes32 node = keccak256(abi.encodePacked(REVERSE, keccak256(toHex(wallet))));
        address reverse = registry.resolver(node);
        if (reverse.code.length == 0) revert ResolverNotFound("");
        string memory primary = Resolver(reverse).name(node);
        if (bytes(primary).length == 0) return ("", address(0), reverse);
        bytes memory name = encode(primary);
        bytes memory data = abi.encodeCall(Resolver.addr, (namehash(name, 0)));
        (bytes memory result, address resolver) =
            resolve(name, data, gateways, this.reverseCallback.selector, abi.encode(wallet, primary, reverse));
        return compare(wallet, primary, reverse, result, resolver);
    }

    function resolveWithGateways(bytes calldata name, bytes calldata data, string[] calldata gateways)
        external
        view
        returns (bytes memory, address)
    {
        return resolve(name, data, gateways, this.resolveCallback.selector, "");
    }

    function reverseCallback(bytes calldata response, bytes calldata extra)
        external
        view
        returns (string memory, address, address)
    {
        (bytes memory result, address resolver, bytes memory own) = finish(response, extra);
        (bytes memory wallet, string memory primary, address reverse) = abi.decode(own, (bytes, string, address));
        return compare(wallet, primary, reverse, result, resolver);
    }

    function resolveCallback(bytes calldata response, bytes calldata extra)
        external
        view
        returns (bytes memory result, address resolver)
    {
        (result, resolver,) = finish(response, extra);
    }

    function compare(
        bytes memory wallet,
        string memory primary,
        address reverse,
        bytes memory result,
        address resolver
    ) private pure returns (string memory, address, address) {
        bytes memory owner = abi.encodePacked(abi.decode(result, (address)));
        if (keccak256(owner) != keccak256(wallet)) revert ReverseAddressMismatch(primary, owner);
        return (primary, resolver, reverse);
    }

    /// A lookup of an off-chain resolver goes on through the caller's batch gateway.
    function resolve(
        bytes memory name,
        bytes memory data,
        string[] memory gateways,
        bytes4 callback,
        bytes memory own
    ) private view returns (bytes memory, address) {
        address resolver = registry.resolver(namehash(name, 0));
        if (resolver.code.length == 0) revert ResolverNotFound(name);
        bool isExtended = Resolver(resolver).supportsInterface(Resolver.resolve.selector);
        (bool isDone, bytes memory result) =
            resolver.staticcall(isExtended ? abi.encodeCall(Resolver.resolve, (name, data)) : data);
        if (isDone) return (isExtended ? abi.decode(result, (bytes)) : result, resolver);
        if (bytes4(result) != OffchainLookup.selector) revert ResolverError(result);
        Query[] memory queries = new Query[](1);
        bytes4 next;
        bytes memory extra;
        (queries[0].sender, queries[0].urls, queries[0].data, next, extra) =
            abi.decode(withoutSelector(result), (address, string[], bytes, bytes4, bytes));
        bytes memory call = abi.encodeCall(BatchGateway.query, (queries));
        revert OffchainLookup(address(this), gateways, call, callback, abi.encode(resolver, next, extra, own));
    }

    function finish(bytes calldata response, bytes calldata extra)
        private
        view
        returns (bytes memory, address, bytes memory)
    {
        (bool[] memory failures, bytes[] memory responses) = abi.decode(response, (bool[], bytes[]));
        (address resolver, bytes4 next, bytes memory its, bytes memory own) =
            abi.decode(extra, (address, bytes4, bytes, bytes));
        bytes memory answer = responses[0];
        if (failures[0]) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        (bool isDone, bytes memory result) = resolver.staticcall(abi.encodeWithSelector(next, answer, its));
        if (!isDone) revert ResolverError(result);
        return (abi.decode(result, (bytes)), resolver, own);
    }

    function withoutSelector(bytes memory data) private pure returns (bytes memory rest) {
        rest = new bytes(data.length - 4);
        for (uint256 i = 0; i < rest.length; i++) rest[i] = data[i + 4];
    }

    function toHex(bytes calldata wallet) private pure returns (bytes memory text) {
        bytes16 digits = "0123456789abcdef";
        text = new bytes(wallet.length * 2);
        for (uint256 i = 0; i < wallet.length; i++) {
            text[2 * i] = digits[uint8(wallet[i]) >> 4];
            text[2 * i + 1] = digits[uint8(wallet[i]) & 15];
        }
    }

    /// DNS encoding: each label after its length.
    function encode(string memory name) private pure returns (bytes memory) {
        bytes memory text = abi.encodePacked(".", name, ".");
        uint256 length;
        for (uint256 i = text.length - 1; i > 0; i--) {
            if (text[i - 1] == ".") {
                if (length == 0 || length > 255) revert DNSEncodingFailed(name);
                text[i - 1] = bytes1(uint8(length));
                length = 0;
            } else {
                length++;
            }
        }
        text[text.length - 1] = 0;
        return text;
    }

    function namehash(bytes memory name, uint256 start) private pure returns (bytes32) {
        uint256 length = uint8(name[start]);
        if (length == 0) return 0;
        bytes memory label = new bytes(length);
        for (uint256 i = 0; i < length; i++) label[i] = name[start + 1 + i];
        return keccak256(abi.encodePacked(namehash(name, start + 1 + length), keccak256(label)));
    }
}

/// Resolves every name by the answer of a gateway (ENSIP-10, ERC-3668).
contract TestOffchainResolver {
    string private url;

    constructor(string memory url_) {
        url = url_;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == Resolver.resolve.selector;
    }

    function resolve(bytes calldata, bytes calldata data) external view returns (bytes memory) {
        string[] memory urls = new string[](1);
        urls[0] = url;
        revert OffchainLookup(address(this), urls, data, this.resolveCallback.selector, "");
    }

    function resolveCallback(bytes calldata response, bytes calldata) external pure returns (bytes memory) {
        return response;
    }
}
