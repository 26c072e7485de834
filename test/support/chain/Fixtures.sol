// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A wallet of one owner: a signature is its when the owner's key made it (ERC-1271).
contract TestWallet {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        address signer = ecrecover(hash, uint8(signature[64]), r, s);
        return signer != address(0) && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/// Makes wallets at addresses that are known before (CREATE2, salt 0).
contract TestFactory {
    function create(address owner) external returns (address) {
        address predicted = predict(owner);
        if (predicted.code.length > 0) return predicted;
        return address(new TestWallet{salt: 0}(owner));
    }

    function predict(address owner) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(TestWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), bytes32(0), code)))));
    }

    function fail(address) external pure returns (address) {
        revert("no wallet today");
    }

    /// Burns whatever gas it is given.
    function loop(address owner) external pure returns (address) {
        while (true) owner = address(uint160(uint256(keccak256(abi.encodePacked(owner)))));
        return owner;
    }
}

/// As much of an ERC-20 token as holding it takes.
contract TestToken {
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }
}
